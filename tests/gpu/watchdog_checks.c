/* A rank that never calls: the others end with an error that names it, and the process goes on. */
#include "checks.h"

static const lampar_check_call calls_made[] = {
    {.dtype = LAMPAR_BF16, .rows = 4, .hidden = 7168, .first = 31},
    {.dtype = LAMPAR_F32, .rows = 1, .hidden = 100003, .first = 32},
};

static lampar_status expect_fault(lampar_rank *rank) {
  const int missing = rank->world - 1;
  lampar_fault fault = LAMPAR_FAULT_INIT;
  LAMPAR_TRY(expect_status(lampar_group_error(rank->group, &fault), LAMPAR_ERROR_TIMEOUT,
                           "waiting for a rank that never calls"));
  if (fault.rank == rank->rank && fault.source == missing && fault.missing == 1u << missing &&
      fault.kernel != NULL)
    return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH,
                     "the fault says rank %d, source %d, missing 0x%x, expected %d, %d, 0x%x",
                     fault.rank, fault.source, fault.missing, rank->rank, missing, 1u << missing);
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
    LAMPAR_TRY(expect_fault(rank));
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
