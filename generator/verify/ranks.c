#include "verify/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/error.h"
#include "base/shared_library.h"

enum { BARRIER_DEADLINE_S = 120, EXCHANGE_DEADLINE_MS = 30000 };

struct lampar_ranks {
  lampar_driver driver;
  lampar_nccl nccl; /* opened by the first connection */
  bool nccl_open;
  int gpu_count;
  int first, count;
  int active; /* ranks of this process that take part: those below the world */
  lampar_rank rank[LAMPAR_WORLD_MAX];
  bool retained[LAMPAR_WORLD_MAX];
  lampar_local_exchange *local;

  lampar_barrier barrier; /* broken once a rank has failed in this run */
  pthread_mutex_t mutex;
  lampar_failure failed; /* of the first rank that failed in this run */
};

lampar_status lampar_rank_check(const lampar_rank *rank, int result, const char *what) {
  return lampar_driver_check(rank->driver, result, what);
}

/* The driver builds a stream's queue while it is first filled, and waits for the device to do so. A
 * rank whose kernels spin on that device would wait for launches that come after that wait. */
static lampar_status fill_queue(const lampar_rank *rank, struct CUstream_st *stream) {
  enum { LAUNCHES = 2048 };
  bool is_emulated;
  lampar_device_pointer word;
  LAMPAR_TRY(lampar_device_is_emulated(&is_emulated));
  if (is_emulated) return LAMPAR_OK;
  LAMPAR_TRY(lampar_rank_check(rank, rank->driver->memory_alloc(&word, 4), "cuMemAlloc"));
  int result = LAMPAR_CUDA_SUCCESS;
  for (int i = 0; i < LAUNCHES && result == LAMPAR_CUDA_SUCCESS; ++i)
    result = rank->driver->memset_d32_async(word, 0, 1, stream);
  if (result == LAMPAR_CUDA_SUCCESS) result = rank->driver->stream_synchronize(stream);
  rank->driver->memory_free(word);
  return lampar_rank_check(rank, result, "cuMemsetD32Async");
}

static lampar_status open_rank(lampar_ranks *ranks, int index, int gpu) {
  lampar_rank *rank = &ranks->rank[index];
  const lampar_driver *driver = &ranks->driver;
  rank->rank = ranks->first + index;
  rank->gpu = gpu;
  rank->driver = driver;
  rank->ranks = ranks;
  int device;
  LAMPAR_TRY(lampar_rank_check(rank, driver->device_get(&device, gpu), "cuDeviceGet"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->primary_context_retain(&rank->context, device),
                               "cuDevicePrimaryCtxRetain"));
  ranks->retained[index] = true;
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->context_set_current(rank->context), "cuCtxSetCurrent"));
  for (int i = 0; i < LAMPAR_RANK_STREAMS; ++i) {
    LAMPAR_TRY(
        lampar_rank_check(rank, driver->stream_create(&rank->stream[i], LAMPAR_STREAM_NON_BLOCKING),
                          "cuStreamCreate"));
    if (ranks->count > ranks->gpu_count) LAMPAR_TRY(fill_queue(rank, rank->stream[i]));
  }
  return LAMPAR_OK;
}

lampar_status lampar_ranks_create(int first, int count, int first_gpu, lampar_ranks **result) {
  if (count < 1 || count > LAMPAR_WORLD_MAX || first < 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "ranks %d to %d: 1 to %d ranks", first,
                       first + count - 1, LAMPAR_WORLD_MAX);
  /* Streams that share a hardware queue would run one after the other, and a rank that waits in one
   * for a rank behind it in the same queue would wait forever. */
  if (setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "setenv: %s", strerror(errno));

  lampar_ranks *ranks = calloc(1, sizeof *ranks);
  if (ranks == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  ranks->first = first;
  ranks->count = count;
  pthread_mutex_init(&ranks->mutex, NULL);
  lampar_barrier_open(&ranks->barrier, count);

  lampar_status status = lampar_driver_open(&ranks->driver);
  if (status == LAMPAR_OK)
    status = lampar_driver_check(&ranks->driver, ranks->driver.device_count(&ranks->gpu_count),
                                 "cuDeviceGetCount");
  if (status == LAMPAR_OK && ranks->gpu_count == 0)
    status = lampar_fail(LAMPAR_ERROR_DRIVER,
                         "the CUDA driver (%s) sees no GPU; look at CUDA_VISIBLE_DEVICES",
                         ranks->driver.library.path);
  for (int i = 0; status == LAMPAR_OK && i < count; ++i)
    status = open_rank(ranks, i, (first_gpu + i) % ranks->gpu_count);
  if (status != LAMPAR_OK) {
    lampar_ranks_destroy(ranks);
    return status;
  }
  *result = ranks;
  return LAMPAR_OK;
}

void lampar_ranks_destroy(lampar_ranks *ranks) {
  if (ranks == NULL) return;
  lampar_ranks_close_group(ranks);
  lampar_ranks_disconnect(ranks);
  for (int i = 0; i < ranks->count; ++i) {
    lampar_rank *rank = &ranks->rank[i];
    if (!ranks->retained[i]) continue;
    rank->driver->context_set_current(rank->context);
    for (int s = 0; s < LAMPAR_RANK_STREAMS; ++s)
      if (rank->stream[s] != NULL) rank->driver->stream_destroy(rank->stream[s]);
    int device;
    if (rank->driver->device_get(&device, rank->gpu) == LAMPAR_CUDA_SUCCESS)
      rank->driver->primary_context_release(device);
  }
  lampar_local_exchange_destroy(ranks->local);
  lampar_barrier_close(&ranks->barrier);
  pthread_mutex_destroy(&ranks->mutex);
  free(ranks);
}

lampar_status lampar_ranks_set_schedule(lampar_ranks *ranks, uint64_t seed) {
  union {
    void *address;
    int (*function)(uint64_t seed);
  } set_seed;
  LAMPAR_TRY(lampar_library_symbol(&ranks->driver.library, "lampar_emu_set_seed", &set_seed.address,
                                   LAMPAR_ERROR_DRIVER));
  return lampar_driver_check(&ranks->driver, set_seed.function(seed), "lampar_emu_set_seed");
}

lampar_status lampar_ranks_set_world(lampar_ranks *ranks, int world) {
  const bool all_here = ranks->first == 0 && world <= ranks->count;
  if (world < 1 || world > LAMPAR_WORLD_MAX || ranks->first >= world)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "world %d: 1 to %d", world, LAMPAR_WORLD_MAX);
  lampar_local_exchange_destroy(ranks->local);
  ranks->local = NULL;
  if (all_here)
    LAMPAR_TRY(lampar_local_exchange_create(world, EXCHANGE_DEADLINE_MS, &ranks->local));
  ranks->active = ranks->first + ranks->count <= world ? ranks->count : world - ranks->first;
  for (int i = 0; i < ranks->active; ++i) {
    ranks->rank[i].world = world;
    ranks->rank[i].exchange = all_here ? lampar_local_exchange_rank(ranks->local, i) : NULL;
  }
  return LAMPAR_OK;
}

int lampar_ranks_gpu_count(const lampar_ranks *ranks) {
  return ranks->gpu_count;
}

int lampar_ranks_count(const lampar_ranks *ranks) {
  return ranks->count;
}

lampar_rank *lampar_ranks_at(lampar_ranks *ranks, int index) {
  return &ranks->rank[index];
}

lampar_status lampar_ranks_capability(lampar_ranks *ranks, uint32_t *capability) {
  const lampar_rank *rank = &ranks->rank[0];
  int device;
  LAMPAR_TRY(lampar_rank_check(rank, rank->driver->device_get(&device, rank->gpu), "cuDeviceGet"));
  return lampar_driver_capability(rank->driver, device, capability);
}

typedef struct job {
  lampar_rank *rank;
  lampar_rank_function function;
  void *user;
} job;

/* Keeps the first failure of the run, and stops the ranks that wait for this one. */
static void stop(lampar_ranks *ranks, int rank, lampar_status status) {
  pthread_mutex_lock(&ranks->mutex);
  if (ranks->failed.status == LAMPAR_OK)
    lampar_failure_save(&ranks->failed,
                        lampar_fail(status, "rank %d: %s", rank, lampar_last_error()));
  pthread_mutex_unlock(&ranks->mutex);
  lampar_barrier_break(&ranks->barrier);
}

static void *run_job(void *argument) {
  const job *work = argument;
  lampar_rank *rank = work->rank;
  lampar_status status =
      lampar_rank_check(rank, rank->driver->context_set_current(rank->context), "cuCtxSetCurrent");
  if (status == LAMPAR_OK) status = work->function(rank, work->user);
  if (status != LAMPAR_OK) stop(rank->ranks, rank->rank, status);
  return NULL;
}

lampar_status lampar_ranks_run(lampar_ranks *ranks, lampar_rank_function function, void *user) {
  job jobs[LAMPAR_WORLD_MAX];
  pthread_t threads[LAMPAR_WORLD_MAX];
  int started = 0;
  lampar_barrier_reset(&ranks->barrier, ranks->active);
  lampar_failure_save(&ranks->failed, LAMPAR_OK);
  for (; started < ranks->active; ++started) {
    jobs[started] = (job){&ranks->rank[started], function, user};
    const int result = pthread_create(&threads[started], NULL, run_job, &jobs[started]);
    if (result == 0) continue;
    stop(ranks, ranks->rank[started].rank,
         lampar_fail(LAMPAR_ERROR_SYSTEM, "a thread cannot be started: %s", strerror(result)));
    break;
  }
  for (int i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  return lampar_failure_raise(&ranks->failed);
}

lampar_status lampar_rank_barrier(lampar_rank *rank) {
  lampar_ranks *ranks = rank->ranks;
  if (lampar_barrier_wait(&ranks->barrier, BARRIER_DEADLINE_S * 1000)) return LAMPAR_OK;
  pthread_mutex_lock(&ranks->mutex);
  const bool has_failed = ranks->failed.status != LAMPAR_OK;
  pthread_mutex_unlock(&ranks->mutex);
  if (has_failed) return lampar_fail(LAMPAR_ERROR_SYSTEM, "another rank failed");
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "some rank did not reach a barrier within %d s",
                     BARRIER_DEADLINE_S);
}

lampar_status lampar_rank_finish(lampar_rank *rank) {
  for (int i = 0; i < LAMPAR_RANK_STREAMS; ++i)
    LAMPAR_TRY(lampar_rank_check(rank, rank->driver->stream_synchronize(rank->stream[i]),
                                 "cuStreamSynchronize"));
  return rank->group == NULL ? LAMPAR_OK : lampar_group_error(rank->group, NULL);
}

static lampar_status connect_rank(lampar_rank *rank, void *user) {
  const lampar_nccl *nccl = &rank->ranks->nccl;
  const lampar_nccl_id *id = user;
  return lampar_nccl_check(nccl, nccl->init_rank(&rank->comm, rank->world, *id, rank->rank),
                           "ncclCommInitRank");
}

lampar_status lampar_ranks_connect(lampar_ranks *ranks, const lampar_nccl_id *id) {
  if (ranks->active > ranks->gpu_count)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "NCCL takes one rank a GPU: %d ranks, %d GPUs",
                       ranks->active, ranks->gpu_count);
  if (!ranks->nccl_open) {
    LAMPAR_TRY(lampar_nccl_open(&ranks->nccl));
    ranks->nccl_open = true;
  }
  lampar_nccl_id made;
  if (id == NULL)
    LAMPAR_TRY(lampar_nccl_check(&ranks->nccl, ranks->nccl.unique_id(&made), "ncclGetUniqueId"));
  else made = *id;
  return lampar_ranks_run(ranks, connect_rank, &made);
}

static lampar_status disconnect_rank(lampar_rank *rank, void *user) {
  (void)user;
  if (rank->comm != NULL) rank->ranks->nccl.destroy(rank->comm);
  rank->comm = NULL;
  return LAMPAR_OK;
}

void lampar_ranks_disconnect(lampar_ranks *ranks) {
  if (ranks->nccl_open) lampar_ranks_run(ranks, disconnect_rank, NULL);
}

typedef struct group_plan {
  lampar_pack *const *packs;
  size_t pack_count;
  const lampar_group_config *config;
} group_plan;

static lampar_status open_group(lampar_rank *rank, void *user) {
  const group_plan *plan = user;
  lampar_group_config config = *plan->config;
  if (rank->comm == NULL) config.exchange = rank->exchange;
  return lampar_group_create(&rank->group, rank->comm, plan->packs, plan->pack_count, &config);
}

lampar_status lampar_ranks_open_group(lampar_ranks *ranks, lampar_pack *const *packs,
                                      size_t pack_count, const lampar_group_config *config) {
  group_plan plan = {packs, pack_count, config};
  return lampar_ranks_run(ranks, open_group, &plan);
}

static lampar_status close_group(lampar_rank *rank, void *user) {
  (void)user;
  lampar_group *group = rank->group;
  rank->group = NULL;
  return lampar_group_destroy(group);
}

lampar_status lampar_ranks_close_group(lampar_ranks *ranks) {
  return lampar_ranks_run(ranks, close_group, NULL);
}
