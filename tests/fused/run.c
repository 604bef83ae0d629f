#include <stdio.h>

#include "base/error.h"
#include "fused.h"

static float relu2(float x) {
  return x > 0 ? x * x : 0;
}

const lampar_stage_map fused_own_stages[] = {{"relu2", relu2}, {NULL, NULL}};

lampar_status fused_samples(const fused_fixture *fixture, const fused_key *key, int scalars,
                            lampar_epilogue_samples *samples) {
  return lampar_epilogue_samples_create(&key->variant, fixture->rows + LAMPAR_SAMPLE_ROW_KINDS, 4,
                                        scalars, samples);
}

lampar_status fused_enter_rows(const fused_run *run, lampar_batch *batch,
                               const lampar_check_call *calls, size_t count) {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char who[200];
  for (size_t c = 0; c < count; ++c)
    for (uint64_t row = 0; row < calls[c].rows; ++row) {
      const uint64_t sample = calls[c].first_row + row;
      snprintf(who, sizeof who, "%s of %.90s, pack %d, row %llu of %llu", run->what,
               run->key->variant.epilogue, run->pack + 1, (unsigned long long)row,
               (unsigned long long)calls[c].rows);
      lampar_batch_digest(batch, c, row, false, digest);
      LAMPAR_TRY(golden_rows_enter(&run->key->golden_rows, run->pack, sample, digest, who));
      if (!lampar_epilogue_quantizes(&run->key->variant)) continue;
      lampar_batch_digest(batch, c, row, true, digest);
      LAMPAR_TRY(golden_rows_enter(run->key->quantized, run->pack, sample, digest, who));
    }
  return LAMPAR_OK;
}

static lampar_status enter_rows(lampar_rank *rank, lampar_batch *batch,
                                const lampar_check_call *calls, size_t count, void *user) {
  (void)rank;
  return fused_enter_rows(user, batch, calls, count);
}

lampar_status fused_run_calls(const fused_run *run, const lampar_check_call *calls, size_t count) {
  LAMPAR_TRY(lampar_batches_run(run->fixture->batches, run->data, calls, count,
                                run->has_promise ? enter_rows : NULL, (void *)run));
  run->key->calls += count;
  return LAMPAR_OK;
}
