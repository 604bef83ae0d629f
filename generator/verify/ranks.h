/* Several ranks in one process, a thread each: what `verify`, the tests and the benchmarks run on.
 * Rank r has GPU r % GPUs, so that any number of ranks runs on any number of GPUs. All of CUDA goes
 * through the driver table.
 *
 * Ranks that share a GPU wait for each other inside kernels. A copy engine works in order, so a
 * copy that waits for such a kernel holds up the copies of other ranks: between copies and kernels,
 * and between kernels and copies, every rank passes lampar_rank_barrier. */
#ifndef LAMPAR_RANKS_H
#define LAMPAR_RANKS_H

#include <stdbool.h>

#include "cuda/driver.h"
#include "cuda/nccl.h"
#include "pack/variant.h"

typedef struct lampar_ranks lampar_ranks;

enum { LAMPAR_RANK_STREAMS = 2 };

typedef struct lampar_rank {
  int rank;  /* of the group */
  int world; /* ranks of the group, in whatever process */
  int gpu;   /* ordinal */
  const lampar_driver *driver;
  struct CUctx_st *context;                        /* current on the rank's thread */
  struct CUstream_st *stream[LAMPAR_RANK_STREAMS]; /* non-blocking */
  const lampar_exchange *exchange;                 /* NULL when some ranks are in other processes */
  struct ncclComm *comm;                           /* NULL: not connected */
  lampar_group *group;                             /* NULL: none is open */
  lampar_ranks *ranks;
} lampar_rank;

/* Returns a status with its message, as library functions do. */
typedef lampar_status (*lampar_rank_function)(lampar_rank *rank, void *user);

/* Opens the driver and makes `count` ranks, the first of which is rank `first` on GPU `first_gpu`.
 * Call it before anything else uses CUDA: it sets CUDA_DEVICE_MAX_CONNECTIONS, which the driver
 * reads once. Errors: DRIVER (no driver, no GPU), ARGUMENT, SYSTEM. */
lampar_status lampar_ranks_create(int first, int count, int first_gpu, lampar_ranks **ranks);
void lampar_ranks_destroy(lampar_ranks *ranks);

/* From here on the ranks below `world` take part. No group may be open and no rank connected. */
lampar_status lampar_ranks_set_world(lampar_ranks *ranks, int world);

/* The order of execution on the emulated device from here on. No call may be running. Errors:
 * DRIVER: the device is not emulated. */
lampar_status lampar_ranks_set_schedule(lampar_ranks *ranks, uint64_t seed);

int lampar_ranks_gpu_count(const lampar_ranks *ranks);

/* The ranks of this process; `index` is 0 .. count-1. */
int lampar_ranks_count(const lampar_ranks *ranks);
lampar_rank *lampar_ranks_at(lampar_ranks *ranks, int index);

/* The arch of the ranks' GPUs, as compute capability x 10: 90. */
lampar_status lampar_ranks_capability(lampar_ranks *ranks, uint32_t *capability);

/* An NCCL communicator for every rank; needs a GPU for each. `id` may be NULL when all ranks are in
 * this process. Errors: NCCL, ARGUMENT. */
lampar_status lampar_ranks_connect(lampar_ranks *ranks, const lampar_nccl_id *id);
void lampar_ranks_disconnect(lampar_ranks *ranks);

/* A group on every rank, over the communicator when connected and the local exchange otherwise. */
lampar_status lampar_ranks_open_group(lampar_ranks *ranks, lampar_pack *const *packs,
                                      size_t pack_count, const lampar_group_config *config);
lampar_status lampar_ranks_close_group(lampar_ranks *ranks);

/* Runs the function on every rank at once, each on a thread of its own with its context current,
 * and waits for all. The status and message are those of the first rank that failed, which the
 * message names. */
lampar_status lampar_ranks_run(lampar_ranks *ranks, lampar_rank_function function, void *user);

/* Waits until all ranks of this process are here. Fails at once when one of them has failed. */
lampar_status lampar_rank_barrier(lampar_rank *rank);

/* What lampar_driver_check makes of a result of the rank's driver. */
lampar_status lampar_rank_check(const lampar_rank *rank, int result, const char *what);

/* Waits for the end of the stream's work, then checks whether a wait in the group timed out. */
lampar_status lampar_rank_finish(lampar_rank *rank);

#endif
