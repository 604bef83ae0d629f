/* Tests every link with one of the group's kernels before the group is used: a few sums of known
 * numbers, compared byte by byte. */
#ifndef LAMPAR_SELF_TEST_H
#define LAMPAR_SELF_TEST_H

#include "group/kernels.h"
#include "group/launch.h"
#include "group/workspace.h"

typedef struct lampar_self_test {
  const lampar_kernel *kernel;
  uint64_t elements;
  lampar_device_pointer device; /* input, output */
  void *host;                   /* the same */
} lampar_self_test;

enum { LAMPAR_SELF_TEST_SECONDS = 10 };

/* Allocates memory. Call it before any kernel of the group runs: an allocation may wait for
 * kernels. */
lampar_status lampar_self_test_open(lampar_self_test *test, const lampar_driver *driver,
                                    const lampar_kernels *kernels);

/* Runs on all ranks at once. `arguments` are those of lane 0. Errors: DRIVER (a wrong sum),
 * TIMEOUT. */
lampar_status lampar_self_test_run(lampar_self_test *test, const lampar_driver *driver,
                                   const lampar_arguments *arguments,
                                   const lampar_workspace *workspace, int rank, int world,
                                   struct CUstream_st *stream);
void lampar_self_test_close(lampar_self_test *test, const lampar_driver *driver);

#endif
