/* A rank that never calls: the others end with an error that names it, and the process goes on. A
 * rank that is only late is waited for. */
#include "checks.h"

#include <string.h>
#include <time.h>

/* A late rank comes well within the bound, and later than a bound in wrong units would end. */
enum { LATE_NS = 300000000, BOUND_MS = 2000 };

static const lampar_check_call calls_made[] = {
    {.dtype = LAMPAR_BF16, .rows = 4, .hidden = 7168, .first = 31},
    {.dtype = LAMPAR_F32, .rows = 1, .hidden = 100003, .first = 32},
};

static lampar_status expect_fault(lampar_rank *rank, const lampar_call *call) {
  const int missing = rank->world - 1;
  lampar_fault fault = LAMPAR_FAULT_INIT;
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, call, &answer));
  LAMPAR_TRY(expect_status(lampar_group_error(rank->group, &fault), LAMPAR_ERROR_TIMEOUT,
                           "waiting for a rank that never calls"));
  if (fault.rank == rank->rank && fault.source == missing && fault.missing == 1u << missing &&
      answer.kernel != NULL && strcmp(fault.kernel, answer.kernel) == 0)
    return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH,
                     "the fault has rank %d, source %d, missing 0x%x, kernel %s, expected %d, %d, "
                     "0x%x, %s",
                     fault.rank, fault.source, fault.missing, fault.kernel, rank->rank, missing,
                     1u << missing, answer.kernel);
}

static lampar_status leave_one_out(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  const lampar_driver *driver = rank->driver;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  LAMPAR_TRY(lampar_batch_run(batch, &fixture->data, calls_made, 2));
  LAMPAR_TRY(lampar_rank_barrier(rank));
  if (rank->rank < rank->world - 1) {
    LAMPAR_TRY(lampar_batch_enqueue(batch, 0));
    LAMPAR_TRY(lampar_driver_check(driver, driver->stream_synchronize(rank->stream[0]),
                                   "cuStreamSynchronize"));
    const lampar_call call = lampar_batch_get(batch, 0);
    LAMPAR_TRY(expect_fault(rank, &call));
    LAMPAR_TRY(expect_status(lampar_batch_enqueue(batch, 1), LAMPAR_ERROR_TIMEOUT,
                             "a call after the fault"));
  }
  LAMPAR_TRY(lampar_rank_barrier(rank));
  if (rank->rank < rank->world - 1) return LAMPAR_OK;
  return expect_status(lampar_group_error(rank->group, NULL), LAMPAR_OK,
                       "the rank that never called");
}

lampar_status check_watchdog(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  config.watchdog_ms = 200;
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  LAMPAR_TRY(lampar_ranks_run(fixture->ranks, leave_one_out, fixture));
  LAMPAR_TRY(lampar_ranks_close_group(fixture->ranks));

  config.watchdog_ms = WATCHDOG_MS;
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  LAMPAR_TRY(lampar_batches_run(fixture->batches, &fixture->data, calls_made, 2, NULL, NULL));
  *calls += 5;
  return LAMPAR_OK;
}

/* Not for the emulated device, whose clock leaps while all threads sleep. */
static lampar_status come_late(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, calls_made, 2));
  for (size_t i = 0; i < 2; ++i) {
    LAMPAR_TRY(lampar_rank_barrier(rank));
    if (rank->rank == rank->world - 1) nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
    LAMPAR_TRY(lampar_batch_enqueue(batch, i));
    LAMPAR_TRY(lampar_driver_check(rank->driver, rank->driver->stream_synchronize(rank->stream[0]),
                                   "cuStreamSynchronize"));
    LAMPAR_TRY(lampar_group_error(rank->group, NULL));
  }
  LAMPAR_TRY(lampar_rank_barrier(rank));
  return lampar_batch_compare(batch);
}

lampar_status check_late_rank(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  config.watchdog_ms = BOUND_MS;
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  *calls += 2;
  return lampar_ranks_run(fixture->ranks, come_late, fixture);
}
