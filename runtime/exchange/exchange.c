#include "exchange/exchange.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/sized.h"
#include "pack/variant.h"

enum { WARN_AFTER_MS = 30000, POLL_NS = 20000, STEP_BYTES = 64 };

_Static_assert(sizeof(lampar_failure) <= LAMPAR_EXCHANGE_BYTES_MAX, "a failure is one message");

/* ---- NCCL ---- */

/* What a gather changes on the calling thread and restores: its context and capture mode. */
typedef struct thread_state {
  struct CUctx_st *context;
  int capture_mode;
} thread_state;

static lampar_status enter(const lampar_channel *channel, thread_state *before) {
  const lampar_driver *driver = channel->driver;
  before->capture_mode = LAMPAR_CAPTURE_MODE_RELAXED;
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->context_current(&before->context), "cuCtxGetCurrent"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->context_set_current(channel->context),
                                 "cuCtxSetCurrent"));
  return lampar_driver_check(driver, driver->capture_mode_exchange(&before->capture_mode),
                             "cuThreadExchangeStreamCaptureMode");
}

static void leave(const lampar_channel *channel, thread_state *before) {
  channel->driver->capture_mode_exchange(&before->capture_mode);
  channel->driver->context_set_current(before->context);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void sleep_briefly(void) {
  nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* Polls, because cuStreamSynchronize would wait without a bound. */
static lampar_status wait_for_stream(const lampar_channel *channel) {
  const double start = milliseconds();
  bool warned = false;
  for (;;) {
    const int result = channel->driver->stream_query(channel->stream);
    if (result != LAMPAR_CUDA_ERROR_NOT_READY)
      return lampar_driver_check(channel->driver, result, "ncclAllGather");
    const double waited = milliseconds() - start;
    if (waited > channel->timeout_ms)
      return lampar_fail(LAMPAR_ERROR_TIMEOUT,
                         "some rank did not arrive within %u ms: look for the error of that rank",
                         channel->timeout_ms);
    if (waited > WARN_AFTER_MS && !warned) {
      lampar_log(channel->logger, LAMPAR_LOG_WARN, "%s: still waiting for other ranks after %d s",
                 channel->activity, WARN_AFTER_MS / 1000);
      warned = true;
    }
    sleep_briefly();
  }
}

/* A non-blocking communicator returns "in progress" until the call is enqueued. */
static lampar_status wait_for_enqueue(const lampar_channel *channel, int result) {
  const double start = milliseconds();
  while (result == LAMPAR_NCCL_IN_PROGRESS && milliseconds() - start < channel->timeout_ms) {
    sleep_briefly();
    channel->nccl->async_error(channel->comm, &result);
  }
  return lampar_nccl_check(channel->nccl, result, "ncclAllGather");
}

static lampar_status gather_over_nccl(const lampar_channel *channel, const void *mine, void *all,
                                      size_t bytes) {
  char *const sent = channel->buffer, *const gathered = sent + LAMPAR_EXCHANGE_BYTES_MAX;
  thread_state before;
  LAMPAR_TRY(enter(channel, &before));
  memcpy(sent, mine, bytes);
  lampar_status status =
      wait_for_enqueue(channel, channel->nccl->all_gather(sent, gathered, bytes, LAMPAR_NCCL_UINT8,
                                                          channel->comm, channel->stream));
  if (status == LAMPAR_OK) status = wait_for_stream(channel);
  if (status == LAMPAR_OK) memcpy(all, gathered, bytes * (size_t)channel->world);
  leave(channel, &before);
  return status;
}

static lampar_status open_stream(lampar_channel *channel) {
  const lampar_driver *driver = channel->driver;
  thread_state before;
  LAMPAR_TRY(enter(channel, &before));
  lampar_status status = lampar_driver_check(
      driver, driver->stream_create(&channel->stream, LAMPAR_STREAM_NON_BLOCKING),
      "cuStreamCreate");
  /* Host memory, because "out of device memory" is a failure that must be sent. */
  if (status == LAMPAR_OK)
    status = lampar_driver_check(
        driver,
        driver->host_alloc(&channel->buffer,
                           (size_t)LAMPAR_EXCHANGE_BYTES_MAX * (size_t)(channel->world + 1),
                           LAMPAR_MEMHOSTALLOC_PORTABLE | LAMPAR_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc for the exchange");
  leave(channel, &before);
  return status;
}

lampar_status lampar_channel_over_nccl(lampar_channel *channel, const char *activity,
                                       const lampar_driver *driver, const lampar_nccl *nccl,
                                       const lampar_logger *logger, struct ncclComm *comm,
                                       uint32_t timeout_ms) {
  *channel = (lampar_channel){.activity = activity,
                              .comm = comm,
                              .driver = driver,
                              .nccl = nccl,
                              .logger = logger,
                              .timeout_ms = timeout_ms};
  int ordinal;
  LAMPAR_TRY(lampar_nccl_check(nccl, nccl->count(comm, &channel->world), "ncclCommCount"));
  LAMPAR_TRY(lampar_nccl_check(nccl, nccl->user_rank(comm, &channel->rank), "ncclCommUserRank"));
  if (channel->world > LAMPAR_WORLD_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "the communicator has %d ranks (1 to %d)",
                       channel->world, LAMPAR_WORLD_MAX);
  LAMPAR_TRY(lampar_nccl_check(nccl, nccl->device(comm, &ordinal), "ncclCommCuDevice"));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->device_get(&channel->device, ordinal), "cuDeviceGet"));
  LAMPAR_TRY(lampar_driver_check(driver,
                                 driver->primary_context_retain(&channel->context, channel->device),
                                 "cuDevicePrimaryCtxRetain"));
  return open_stream(channel);
}

/* ---- both ---- */

lampar_status lampar_channel_over_exchange(lampar_channel *channel, const char *activity,
                                           const lampar_exchange *given, const char *what) {
  lampar_exchange exchange = LAMPAR_EXCHANGE_INIT;
  LAMPAR_TRY(lampar_sized_read(&exchange, sizeof exchange, given, what));
  if (exchange.all_gather == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: all_gather is NULL", what);
  if (exchange.world < 1 || exchange.world > LAMPAR_WORLD_MAX || exchange.rank < 0 ||
      exchange.rank >= exchange.world)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: rank %d of %d; a group has 1 to %d ranks", what,
                       exchange.rank, exchange.world, LAMPAR_WORLD_MAX);
  *channel = (lampar_channel){
      .activity = activity, .rank = exchange.rank, .world = exchange.world, .exchange = exchange};
  return LAMPAR_OK;
}

void lampar_channel_close(lampar_channel *channel) {
  const lampar_driver *driver = channel->driver;
  thread_state before;
  if (channel->context != NULL && enter(channel, &before) == LAMPAR_OK) {
    /* Leak a stream that still waits for a rank: freeing its buffer would wait forever. */
    if (channel->stream != NULL &&
        driver->stream_query(channel->stream) != LAMPAR_CUDA_ERROR_NOT_READY) {
      if (channel->buffer != NULL) driver->host_free(channel->buffer);
      driver->stream_destroy(channel->stream);
    }
    leave(channel, &before);
  }
  if (channel->context != NULL) driver->primary_context_release(channel->device);
  *channel = (lampar_channel){0};
}

lampar_status lampar_channel_gather(const lampar_channel *channel, const char *step,
                                    const void *mine, void *all, size_t bytes) {
  assert(bytes > 0 && bytes <= LAMPAR_EXCHANGE_BYTES_MAX);
  if (channel->comm != NULL) {
    const lampar_status status = gather_over_nccl(channel, mine, all, bytes);
    if (status == LAMPAR_OK) return LAMPAR_OK;
    return lampar_fail(status, "%s, step \"%s\", rank %d of %d: %s", channel->activity, step,
                       channel->rank, channel->world, lampar_last_error());
  }
  const int result = channel->exchange.all_gather(channel->exchange.user, mine, all, bytes);
  if (result == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM,
                     "%s, step \"%s\", rank %d of %d: the exchange returned %d: some rank "
                     "did not arrive, or its transport failed",
                     channel->activity, step, channel->rank, channel->world, result);
}

/* The lowest rank that failed, `world` if none did. A timeout is a consequence of another rank's
 * failure, so that one comes first if there is one. */
static int find_failure(const lampar_failure *all, int world) {
  int first = world;
  for (int r = world - 1; r >= 0; --r)
    if (all[r].status == LAMPAR_ERROR_TIMEOUT) first = r;
  for (int r = world - 1; r >= 0; --r)
    if (all[r].status != LAMPAR_OK && all[r].status != LAMPAR_ERROR_TIMEOUT) first = r;
  return first;
}

lampar_status lampar_channel_vote(const lampar_channel *channel, const char *step,
                                  lampar_status own, lampar_failure *first) {
  lampar_failure mine, all[LAMPAR_WORLD_MAX];
  lampar_failure_save(&mine, own);
  lampar_failure_save(first, LAMPAR_OK);
  LAMPAR_TRY(lampar_channel_gather(channel, step, &mine, all, sizeof mine));
  const int r = find_failure(all, channel->world);
  if (r == channel->world) return LAMPAR_OK;
  first->status = all[r].status;
  snprintf(first->message, sizeof first->message, "rank %d, step %s: %.*s", r, step,
           (int)sizeof all[r].message - STEP_BYTES, all[r].message);
  return LAMPAR_OK;
}
