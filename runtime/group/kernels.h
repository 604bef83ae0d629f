/* The kernels of a group: those of its packs for one arch and world. All are loaded before the
 * first one runs. */
#ifndef LAMPAR_KERNELS_H
#define LAMPAR_KERNELS_H

#include "cuda/driver.h"
#include "pack/pack_read.h"
#include "pack/select.h"

typedef struct lampar_kernel {
  const lampar_pack_kernel *packed;
  struct CUlib_st *library;
  struct CUfunc_st *function;
  uint32_t resident; /* the most blocks, or clusters, of this rank that fit on its device at once */
} lampar_kernel;

typedef struct lampar_kernels {
  lampar_kernel *list;
  const lampar_variant **variants; /* of the list, for selection */
  size_t count;
} lampar_kernels;

/* The highest arch that has kernels in the packs and runs on a device of compute capability
 * `capability` (90 for 9.0): same major number, no higher minor one. `world` 0: any. Returns 0 if
 * there is none.
 */
uint32_t lampar_kernels_arch(lampar_pack *const *packs, size_t pack_count, uint32_t capability,
                             uint32_t world);

/* Lists the kernels without touching a device. If two have the same key and limit, the first pack's
 * is used. Only those whose name matches the glob `names`; "": all. */
lampar_status lampar_kernels_collect(lampar_kernels *kernels, lampar_pack *const *packs,
                                     size_t pack_count, uint32_t arch, uint32_t world,
                                     const char *names);

/* Loads all kernels in the current context of a device that `ranks_on_device` ranks share. */
lampar_status lampar_kernels_load(lampar_kernels *kernels, const lampar_driver *driver,
                                  int multiprocessors, uint32_t ranks_on_device);
void lampar_kernels_free(lampar_kernels *kernels, const lampar_driver *driver);

/* The launch attribute for a kernel whose rows are shared by a cluster of `blocks`. */
lampar_launch_attribute lampar_cluster_attribute(uint32_t blocks);

#endif
