/* Calls in a row on the emulated device, under many schedules: sizes alternate, so that every
 * mailbox is used many times by one-shot and two-shot, single-pass and persistent kernels; some
 * inputs are full of the sentinel's bits; some calls read what the call before wrote. Every byte is
 * compared with the exact sum.
 *
 *   protocol_test PACK WORLD DTYPE HIDDEN ROWS SCHEDULES [programmatic]
 *
 * Exit status: 0 right, 1 found something. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/batch_check.h"

enum { SAMPLES = 40000, BUFFER_BYTES = 4 << 20, ROUNDS = 3, CALLS_MAX = 64, WATCHDOG_MS = 1000 };

/* Numbers, and in every fifth place the sentinel's bits. */
static uint32_t element(uint32_t dtype, int rank, size_t index, const void *user) {
  if (index / 2 % 5 == (size_t)rank % 5)
    return lampar_dtype_bytes(dtype) == 2 ? 0xffff : 0xffffffff;
  return lampar_sample_finite(dtype, rank, index, user);
}

static size_t make_calls(uint32_t dtype, uint64_t hidden, uint64_t rows, lampar_check_call *calls) {
  const uint64_t row_counts[] = {1, rows, 2, 1, 3, rows / 2, 4, 1, 5};
  size_t count = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    for (size_t i = 0; i < sizeof row_counts / sizeof row_counts[0]; ++i) {
      calls[count] = (lampar_check_call){
          .dtype = dtype, .rows = row_counts[i], .hidden = hidden, .first = count * 131};
      ++count;
      if (i % 2) continue;
      calls[count] = calls[count - 1];
      calls[count++].chained = true;
    }
    const uint64_t odd = rows * hidden / 2 + 5;
    calls[count] = (lampar_check_call){.dtype = dtype,
                                       .rows = 1,
                                       .hidden = odd,
                                       .first = count * 131,
                                       .input_shift = 1,
                                       .output_shift = 3};
    ++count;
    calls[count] = (lampar_check_call){
        .dtype = dtype, .rows = 2, .hidden = 333, .first = count * 131, .gap = 7, .in_place = true};
    ++count;
  }
  return count;
}

/* Steps that the devices made so far. The emulated device's clock for events counts them. */
static lampar_status steps(const lampar_rank *rank, double *count) {
  const lampar_driver *driver = rank->driver;
  struct CUevent_st *start, *end;
  float ms;
  LAMPAR_TRY(lampar_driver_check(driver, driver->context_set_current(rank->context), "context"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->event_create(&start, 0), "cuEventCreate"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->event_create(&end, 0), "cuEventCreate"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->event_record(end, rank->stream[0]), "record"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->event_elapsed(&ms, start, end), "elapsed"));
  *count = (double)ms * 1e6;
  driver->event_destroy(start);
  driver->event_destroy(end);
  return LAMPAR_OK;
}

static lampar_status run(char **argv, lampar_ranks *ranks, lampar_pack *pack, bool programmatic) {
  const int world = atoi(argv[2]), schedules = atoi(argv[6]);
  const uint64_t hidden = strtoull(argv[4], NULL, 10), rows = strtoull(argv[5], NULL, 10);
  const uint64_t seed = 1;
  uint32_t dtype;
  lampar_batches *batches = NULL;
  lampar_samples samples = {0};
  lampar_check_call calls[CALLS_MAX];
  if (!lampar_dtype_parse(argv[3], &dtype)) return LAMPAR_ERROR_ARGUMENT;
  const size_t count = make_calls(dtype, hidden, rows, calls);

  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.programmatic_launch = programmatic;
  lampar_status status = lampar_ranks_set_world(ranks, world);
  if (status == LAMPAR_OK) status = lampar_batches_create(ranks, BUFFER_BYTES, &batches);
  if (status == LAMPAR_OK)
    status = lampar_samples_create(dtype, world, SAMPLES, element, &seed, &samples);
  for (int schedule = 1; schedule <= schedules && status == LAMPAR_OK; ++schedule) {
    lampar_batch_data data = {0};
    data.plain[dtype] = &samples;
    status = lampar_ranks_set_schedule(ranks, (uint64_t)schedule);
    if (status == LAMPAR_OK) status = lampar_ranks_open_group(ranks, &pack, 1, &config);
    if (status == LAMPAR_OK) status = lampar_batches_run(batches, &data, calls, count, NULL, NULL);
    if (status != LAMPAR_OK) printf("schedule %d: %s\n", schedule, lampar_last_error());
    const lampar_status closed = lampar_ranks_close_group(ranks);
    if (status == LAMPAR_OK) status = closed;
  }
  double made = 0;
  if (status == LAMPAR_OK) status = steps(lampar_ranks_at(ranks, 0), &made);
  if (status == LAMPAR_OK)
    printf("%s: %d ranks, %d schedules of %zu calls: right, in %.0f steps\n", argv[3], world,
           schedules, count, made);
  lampar_samples_destroy(&samples);
  lampar_batches_destroy(batches);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: protocol_test PACK WORLD DTYPE HIDDEN ROWS SCHEDULES [programmatic]\n");
    return 2;
  }
  lampar_pack *pack = NULL;
  lampar_ranks *ranks = NULL;
  setenv("LAMPAR_DEVICE", "emu", 1);
  lampar_status status = lampar_pack_open(argv[1], &pack);
  if (status == LAMPAR_OK) status = lampar_ranks_create(0, atoi(argv[2]), 0, &ranks);
  if (status != LAMPAR_OK) fprintf(stderr, "%s\n", lampar_last_error());
  if (status == LAMPAR_OK)
    status = run(argv, ranks, pack, argc > 7 && strcmp(argv[7], "programmatic") == 0);
  lampar_ranks_destroy(ranks);
  lampar_pack_close(pack);
  return status != LAMPAR_OK;
}
