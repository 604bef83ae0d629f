#include "exchange/exchange.h"

#include <time.h>

#include "base/error.h"
#include "base/sized.h"
#include "pack/variant.h"

enum { WARN_AFTER_S = 30 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Waits for the stream without holding the driver, so that a rank that is missing can be told. */
static lampar_status wait_for_stream(const lampar_nccl_exchange *exchange) {
  const double start = seconds();
  bool warned = false;
  for (;;) {
    const int result = exchange->driver->stream_query(exchange->stream);
    if (result != LAMPAR_CUDA_ERROR_NOT_READY)
      return lampar_driver_check(exchange->driver, result, "exchange over NCCL");
    const double waited = seconds() - start;
    if (waited > exchange->deadline_s)
      return lampar_fail(LAMPAR_ERROR_TIMEOUT, "some rank did not arrive within %d s",
                         exchange->deadline_s);
    if (waited > WARN_AFTER_S && !warned)
      lampar_log(exchange->logger, LAMPAR_LOG_WARN,
                 "set-up has waited for other ranks for %d s and goes on waiting", WARN_AFTER_S);
    warned = waited > WARN_AFTER_S;
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
  }
}

/* Communicators that do not block answer "in progress" until the call has been enqueued. */
static lampar_status wait_for_enqueue(const lampar_nccl_exchange *exchange, int result) {
  const double start = seconds();
  while (result == LAMPAR_NCCL_IN_PROGRESS && seconds() - start < exchange->deadline_s) {
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    exchange->nccl->async_error(exchange->comm, &result);
  }
  return lampar_nccl_check(exchange->nccl, result, "ncclAllGather");
}

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  const lampar_nccl_exchange *exchange = user;
  const lampar_driver *driver = exchange->driver;
  const lampar_device_pointer gathered = exchange->buffer + LAMPAR_EXCHANGE_BYTES_MAX;
  lampar_status status = lampar_driver_check(
      driver, driver->copy_to_device_async(exchange->buffer, mine, bytes, exchange->stream),
      "cuMemcpyHtoDAsync");
  if (status == LAMPAR_OK)
    status = wait_for_enqueue(
        exchange, exchange->nccl->all_gather((const void *)(uintptr_t)exchange->buffer,
                                             (void *)(uintptr_t)gathered, bytes, LAMPAR_NCCL_UINT8,
                                             exchange->comm, exchange->stream));
  if (status == LAMPAR_OK) status = wait_for_stream(exchange);
  if (status == LAMPAR_OK)
    status =
        lampar_driver_check(driver,
                            driver->copy_to_host_async(
                                all, gathered, bytes * (size_t)exchange->world, exchange->stream),
                            "cuMemcpyDtoHAsync");
  if (status == LAMPAR_OK) status = wait_for_stream(exchange);
  return (int)status;
}

lampar_status lampar_nccl_exchange_open(lampar_nccl_exchange *exchange, const lampar_driver *driver,
                                        const lampar_nccl *nccl, const lampar_logger *logger,
                                        struct ncclComm *comm, lampar_exchange *result) {
  *exchange = (lampar_nccl_exchange){.driver = driver,
                                     .nccl = nccl,
                                     .logger = logger,
                                     .comm = comm,
                                     .deadline_s = LAMPAR_EXCHANGE_DEADLINE_S};
  int rank;
  LAMPAR_TRY(lampar_nccl_check(nccl, nccl->count(comm, &exchange->world), "ncclCommCount"));
  LAMPAR_TRY(lampar_nccl_check(nccl, nccl->user_rank(comm, &rank), "ncclCommUserRank"));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->stream_create(&exchange->stream, LAMPAR_STREAM_NON_BLOCKING),
      "cuStreamCreate"));
  LAMPAR_TRY(lampar_driver_check(
      driver,
      driver->memory_alloc(&exchange->buffer,
                           (size_t)LAMPAR_EXCHANGE_BYTES_MAX * (size_t)(exchange->world + 1)),
      "cuMemAlloc for the exchange"));
  *result = (lampar_exchange){.size = sizeof *result,
                              .rank = rank,
                              .world = exchange->world,
                              .all_gather = all_gather,
                              .user = exchange};
  return LAMPAR_OK;
}

void lampar_nccl_exchange_close(lampar_nccl_exchange *exchange) {
  /* A stream that still waits for a rank is left behind: freeing what it uses would wait for ever.
   */
  if (exchange->stream == NULL ||
      exchange->driver->stream_query(exchange->stream) == LAMPAR_CUDA_ERROR_NOT_READY)
    return;
  if (exchange->buffer != 0) exchange->driver->memory_free(exchange->buffer);
  exchange->driver->stream_destroy(exchange->stream);
  *exchange = (lampar_nccl_exchange){0};
}

lampar_status lampar_exchange_copy(const lampar_exchange *given, const char *what,
                                   lampar_exchange *copy) {
  *copy = (lampar_exchange)LAMPAR_EXCHANGE_INIT;
  LAMPAR_TRY(lampar_sized_read(copy, sizeof *copy, given, what));
  if (copy->all_gather == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: all_gather is NULL", what);
  if (copy->world < 1 || copy->world > LAMPAR_WORLD_MAX || copy->rank < 0 ||
      copy->rank >= copy->world)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: rank %d of %d; a group has 1 to %d ranks", what,
                       copy->rank, copy->world, LAMPAR_WORLD_MAX);
  return LAMPAR_OK;
}

lampar_status lampar_exchange_step(const lampar_exchange *exchange, const char *activity,
                                   const char *step, const void *mine, void *all, size_t bytes) {
  const int result = exchange->all_gather(exchange->user, mine, all, bytes);
  if (result == 0) return LAMPAR_OK;
  const bool own = exchange->all_gather == all_gather;
  const lampar_status status = own ? (lampar_status)result : LAMPAR_ERROR_SYSTEM;
  if (own)
    return lampar_fail(status, "%s, step \"%s\", rank %d of %d: %s", activity, step, exchange->rank,
                       exchange->world, lampar_last_error());
  return lampar_fail(status,
                     "%s, step \"%s\", rank %d of %d: the exchange returned %d: some rank "
                     "did not arrive, or its transport failed",
                     activity, step, exchange->rank, exchange->world, result);
}
