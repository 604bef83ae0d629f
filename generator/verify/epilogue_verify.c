#include "verify/epilogue_verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { CALLS = 12 }; /* of a kernel in a row: every mailbox is used many times */

typedef struct verification {
  lampar_epilogue_trials *trials;
  const lampar_epilogue_samples *samples;
  const lampar_epilogue_call *calls;
  bool has_reference;
  uint64_t rows;                           /* of all calls together */
  uint8_t (*digests)[LAMPAR_DIGEST_BYTES]; /* of each rank and row */
} verification;

static lampar_status run_calls(lampar_rank *rank, void *user) {
  const verification *v = user;
  lampar_epilogue_trial *trial = lampar_epilogue_trials_get(v->trials, rank);
  uint8_t(*digest)[LAMPAR_DIGEST_BYTES] = v->digests + (uint64_t)rank->rank * v->rows;
  for (size_t done = 0; done < CALLS;) {
    const lampar_epilogue_call *calls = v->calls + done;
    const size_t count = lampar_epilogue_trial_fit(trial, v->samples, calls, CALLS - done);
    if (count == 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a call of %llu rows does not fit",
                         (unsigned long long)calls->rows);
    LAMPAR_TRY(
        lampar_epilogue_trial_batch(trial, v->samples, calls, count, v->has_reference, NULL));
    for (size_t c = 0; c < count; ++c)
      for (uint64_t row = 0; row < calls[c].rows; ++row)
        lampar_epilogue_trial_digest(trial, c, row, false, *digest++);
    done += count;
  }
  return LAMPAR_OK;
}

static lampar_status compare_ranks(const verification *v) {
  for (uint32_t rank = 1; rank < v->samples->variant.world; ++rank)
    for (uint64_t row = 0; row < v->rows; ++row)
      if (memcmp(v->digests[row], v->digests[rank * v->rows + row], LAMPAR_DIGEST_BYTES) != 0)
        return lampar_fail(LAMPAR_ERROR_SYSTEM, "ranks 0 and %u have other bits for a row", rank);
  return LAMPAR_OK;
}

lampar_status lampar_epilogue_verify(lampar_ranks *ranks, lampar_epilogue_trials *trials,
                                     const lampar_variant *variant, const uint64_t *rows,
                                     size_t count, uint64_t seed, size_t *calls,
                                     bool *has_reference) {
  lampar_epilogue_call list[CALLS] = {0};
  uint64_t most = 0;
  verification v = {.trials = trials,
                    .calls = list,
                    .has_reference = lampar_epilogue_has_reference(variant, NULL)};
  for (size_t i = 0; i < CALLS; ++i) {
    list[i] = (lampar_epilogue_call){.rows = rows[i % count],
                                     .first_row = i * 5 % LAMPAR_SAMPLE_ROW_KINDS,
                                     /* Half of the calls is aligned, as most of a server's are. */
                                     .shift = variant->alignment > 0 ? 0 : i / 2 % 2 * (uint32_t)i,
                                     .gap = i / 2 % 2 * 8,
                                     .in_place = i % 5 == 4};
    v.rows += list[i].rows;
    if (list[i].rows > most) most = list[i].rows;
  }
  lampar_epilogue_samples samples;
  LAMPAR_TRY(
      lampar_epilogue_samples_create(variant, most + LAMPAR_SAMPLE_ROW_KINDS, seed, 0, &samples));
  v.samples = &samples;
  v.digests = calloc(v.rows * variant->world, sizeof *v.digests);
  lampar_status status = v.digests != NULL ? lampar_ranks_run(ranks, run_calls, &v)
                                           : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  if (status == LAMPAR_OK) status = compare_ranks(&v);
  free(v.digests);
  lampar_epilogue_samples_destroy(&samples);
  *calls = CALLS;
  *has_reference = v.has_reference;
  return status;
}
