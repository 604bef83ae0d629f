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

lampar_status fused_enter_rows(const fused_run *run, lampar_epilogue_trial *trial,
                               const lampar_epilogue_call *calls, size_t count) {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char who[200];
  for (size_t c = 0; c < count; ++c)
    for (uint64_t row = 0; row < calls[c].rows; ++row) {
      const uint64_t sample = calls[c].first_row + row;
      snprintf(who, sizeof who, "%s of %.90s, pack %d, row %llu of %llu", run->what,
               run->key->variant.epilogue, run->pack + 1, (unsigned long long)row,
               (unsigned long long)calls[c].rows);
      lampar_epilogue_trial_digest(trial, c, row, false, digest);
      LAMPAR_TRY(golden_rows_enter(&run->key->golden_rows, run->pack, sample, digest, who));
      if (!lampar_epilogue_quantizes(&run->key->variant)) continue;
      lampar_epilogue_trial_digest(trial, c, row, true, digest);
      LAMPAR_TRY(golden_rows_enter(run->key->quantized, run->pack, sample, digest, who));
    }
  return LAMPAR_OK;
}

typedef struct list {
  const fused_run *run;
  const lampar_epilogue_call *calls;
  size_t count;
  bool check;
} list;

static lampar_status run_list(lampar_rank *rank, void *user) {
  const list *all = user;
  const fused_run *run = all->run;
  lampar_epilogue_trial *trial = lampar_epilogue_trials_get(run->fixture->trials, rank);
  for (size_t done = 0; done < all->count;) {
    const lampar_epilogue_call *calls = all->calls + done;
    const size_t count = lampar_epilogue_trial_fit(trial, run->samples, calls, all->count - done);
    if (count == 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: call %zu does not fit", run->what, done);
    LAMPAR_TRY(lampar_epilogue_trial_batch(trial, run->samples, calls, count, all->check,
                                           fused_own_stages));
    if (run->has_promise) LAMPAR_TRY(fused_enter_rows(run, trial, calls, count));
    done += count;
  }
  return LAMPAR_OK;
}

lampar_status fused_run_calls(const fused_run *run, const lampar_epilogue_call *calls, size_t count,
                              bool check) {
  list all = {run, calls, count, check};
  LAMPAR_TRY(lampar_ranks_run(run->fixture->ranks, run_list, &all));
  run->key->calls += count;
  return LAMPAR_OK;
}
