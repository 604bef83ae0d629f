#include "verify/epilogue_verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "verify/epilogue_check.h"

enum { CALLS = 12 }; /* of a kernel in a row: every mailbox is used many times */

typedef struct verification {
  const lampar_variant *variant;
  uint64_t rows;                           /* of all calls together */
  uint8_t (*digests)[LAMPAR_DIGEST_BYTES]; /* of each rank and row */
  uint64_t done[LAMPAR_WORLD_MAX];         /* rows of each rank so far */
} verification;

static lampar_status digest_rows(lampar_rank *rank, lampar_batch *batch,
                                 const lampar_check_call *calls, size_t count, void *user) {
  verification *v = user;
  uint64_t *const done = &v->done[rank->rank];
  for (size_t c = 0; c < count; ++c)
    for (uint64_t row = 0; row < calls[c].rows; ++row)
      lampar_batch_digest(batch, c, row, false,
                          v->digests[(uint64_t)rank->rank * v->rows + (*done)++]);
  return LAMPAR_OK;
}

static lampar_status compare_ranks(const verification *v) {
  for (uint32_t rank = 1; rank < v->variant->world; ++rank)
    for (uint64_t row = 0; row < v->rows; ++row)
      if (memcmp(v->digests[row], v->digests[rank * v->rows + row], LAMPAR_DIGEST_BYTES) != 0)
        return lampar_fail(LAMPAR_ERROR_MISMATCH, "ranks 0 and %u differ in the bits of a row",
                           rank);
  return LAMPAR_OK;
}

lampar_status lampar_epilogue_verify(lampar_batches *batches, const lampar_variant *variant,
                                     const uint64_t *rows, size_t count, uint64_t seed,
                                     size_t *calls, bool *has_reference) {
  lampar_check_call list[CALLS] = {0};
  uint64_t most = 0;
  verification v = {.variant = variant};
  for (size_t i = 0; i < CALLS; ++i) {
    /* Half of the calls is aligned, as most of a server's are. */
    const uint32_t shift = variant->alignment > 0 ? 0 : i / 2 % 2 * (uint32_t)i;
    list[i] = (lampar_check_call){.rows = rows[i % count],
                                  .first_row = i * 5 % LAMPAR_SAMPLE_ROW_KINDS,
                                  .input_shift = shift,
                                  .output_shift = shift,
                                  .gap = i / 2 % 2 * 8,
                                  .in_place = i % 5 == 4};
    v.rows += list[i].rows;
    if (list[i].rows > most) most = list[i].rows;
  }
  lampar_epilogue_samples samples;
  LAMPAR_TRY(
      lampar_epilogue_samples_create(variant, most + LAMPAR_SAMPLE_ROW_KINDS, seed, 0, &samples));
  const lampar_batch_data data = {.fused = &samples,
                                  .accepts_any = !lampar_epilogue_has_reference(variant, NULL)};
  v.digests = calloc(v.rows * variant->world, sizeof *v.digests);
  lampar_status status = v.digests != NULL
                             ? lampar_batches_run(batches, &data, list, CALLS, digest_rows, &v)
                             : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  if (status == LAMPAR_OK) status = compare_ranks(&v);
  free(v.digests);
  lampar_epilogue_samples_destroy(&samples);
  *calls = CALLS;
  *has_reference = !data.accepts_any;
  return status;
}
