/* A CUDA driver and an NCCL that record their calls. Memory is that of the host.
 * Entries that no test needs are NULL. */
#ifndef LAMPAR_TEST_FAKE_DRIVER_H
#define LAMPAR_TEST_FAKE_DRIVER_H

#include "cuda/driver.h"
#include "cuda/nccl.h"
#include "pack/arguments.h"

enum { FAKE_COPIES_MAX = 4, FAKE_DIRT = 0x55 };

typedef struct fake_driver {
  /* Answers. */
  int blocks, clusters; /* of the occupancy functions */
  int capture_status;
  uint64_t capture;

  /* What was done: "launch 1; wait 2; " with the numbers of streams. */
  char log[1024];
  lampar_launch_config config;
  lampar_launch_attribute attributes[2];
  struct CUfunc_st *function;
  lampar_arguments arguments;
  int asked_threads;
  unsigned asked_cluster, asked_grid;
  lampar_copy_2d copies[FAKE_COPIES_MAX];
  int copy_count;
  const void *reduce_input;
  void *reduce_output;
  size_t reduce_count;
  int reduce_dtype, reduce_op;
} fake_driver;

extern fake_driver fake;

/* Forgets everything; new memory is full of FAKE_DIRT. */
void fake_open(lampar_driver *driver, lampar_nccl *nccl);

struct CUstream_st *fake_stream(int number);

#endif
