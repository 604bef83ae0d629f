/* Results against the reference, and rows against each other. */
#include <stdlib.h>

#include "base/error.h"
#include "fused.h"

static uint64_t least(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Every kind of row and layout, and every set of scalars; the usual one goes into the golden_rows.
 */
lampar_status check_fused_values(fused_fixture *fixture, fused_key *key, int pack) {
  const uint64_t most = least(fixture->rows, key->max_rows);
  for (int scalars = 0; scalars < LAMPAR_SAMPLE_SCALARS; ++scalars) {
    const lampar_check_call calls[] = {
        {.rows = least(16, most)},
        {.rows = 1, .first_row = 9},
        {.rows = least(5, most), .first_row = 3, .input_shift = 1, .output_shift = 1},
        {.rows = least(6, most), .first_row = 1, .gap = 8},
        {.rows = least(7, most),
         .first_row = 8,
         .gap = 3,
         .input_shift = 3,
         .output_shift = 3,
         .rank_gap = 1},
        {.rows = least(4, most), .first_row = 2, .in_place = true},
        {.rows = least(3, most),
         .first_row = 7,
         .in_place = true,
         .gap = 5,
         .input_shift = 2,
         .output_shift = 2},
        {.rows = most, .first_row = 5},
    };
    lampar_epilogue_samples samples;
    LAMPAR_TRY(fused_samples(fixture, key, scalars, &samples));
    const lampar_batch_data data = {.fused = &samples, .own_stages = fused_own_stages};
    const fused_run run = {fixture, key, pack, &data, "values", scalars == 0};
    const size_t count = sizeof calls / sizeof calls[0] - (scalars > 0); /* the largest once */
    const lampar_status status = fused_run_calls(&run, calls, count);
    lampar_epilogue_samples_destroy(&samples);
    LAMPAR_TRY(status);
  }
  return LAMPAR_OK;
}

/* Calls of 1 to all rows: a row's result depends neither on their number nor on its place. */
lampar_status check_fused_rows(fused_fixture *fixture, fused_key *key, int pack) {
  const uint64_t most = least(fixture->rows, key->max_rows);
  lampar_check_call calls[2 * ROWS_MAX];
  size_t count = 0;
  for (uint64_t rows = 1; rows <= most; ++rows) {
    calls[count++] = (lampar_check_call){.rows = rows, .first_row = rows * 5 % 16};
    if (rows % 16 == 0)
      calls[count++] = (lampar_check_call){.rows = rows, .in_place = true, .rank_gap = 8};
  }
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(fixture, key, 0, &samples));
  const lampar_batch_data data = {.fused = &samples, .accepts_any = true};
  const fused_run run = {fixture, key, pack, &data, "rows", true};
  const lampar_status status = fused_run_calls(&run, calls, count);
  lampar_epilogue_samples_destroy(&samples);
  return status;
}

static lampar_status run_epilogue_kernel(const fused_run *run) {
  const uint64_t most = least(run->fixture->rows, run->key->max_rows);
  const lampar_check_call calls[] = {
      {.rows = least(2, most), .first_row = 9},
      {.rows = least(16, most)},
      {.rows = least(9, most), .first_row = 4, .gap = 8, .rank_gap = 8},
      {.rows = least(5, most), .first_row = 3, .input_shift = 1, .output_shift = 1},
      {.rows = least(4, most), .first_row = 2, .in_place = true},
      {.rows = most, .first_row = 5},
      {.rows = most},
  };
  return fused_run_calls(run, calls, sizeof calls / sizeof calls[0]);
}

lampar_status check_fused_fallback(fused_fixture *fixture, fused_key *key, int pack) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(fixture, key, 0, &samples));
  const lampar_batch_data data = {.fused = &samples, .accepts_any = true};
  const fused_run run = {fixture, key, pack, &data, "NCCL and the epilogue kernel", true};
  const lampar_status status = run_epilogue_kernel(&run);
  key->has_nccl = status == LAMPAR_OK;
  lampar_epilogue_samples_destroy(&samples);
  return status;
}

lampar_status check_epilogue_only(fused_fixture *fixture, fused_key *key, int pack) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(fixture, key, 0, &samples));
  lampar_epilogue_samples_sum(&samples);
  const lampar_batch_data data = {.fused = &samples, .own_stages = fused_own_stages};
  const fused_run run = {fixture, key, pack, &data, "the epilogue kernel on the sum", true};
  const lampar_status status = run_epilogue_kernel(&run);
  lampar_epilogue_samples_destroy(&samples);
  return status;
}
