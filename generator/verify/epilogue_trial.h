/* Fused calls, run on every rank of a process and compared: what trial.h is for plain ones. One
 * image a rank, the same layout on host and device, holds input, output and operands of a batch of
 * calls with guard bytes around each. */
#ifndef LAMPAR_EPILOGUE_TRIAL_H
#define LAMPAR_EPILOGUE_TRIAL_H

#include "base/digest.h"
#include "verify/epilogue_check.h"
#include "verify/epilogue_samples.h"
#include "verify/ranks.h"

typedef struct lampar_epilogue_call {
  uint64_t rows, first_row; /* of the samples; rows follow each other there */
  uint32_t shift;    /* elements that whatever has rows is beyond an address divisible by 16 */
  uint32_t gap;      /* elements between those rows */
  uint32_t rank_gap; /* the same times the rank, added to it */
  bool in_place;     /* the output is where the input was, the residual's where the residual was */
} lampar_epilogue_call;

typedef struct lampar_epilogue_trial lampar_epilogue_trial;

/* A trial for every rank, those beyond the world included, with images of `bytes`. Allocates, so it
 * comes before any kernel. Errors: DRIVER, SYSTEM. */
typedef struct lampar_epilogue_trials lampar_epilogue_trials;
lampar_status lampar_epilogue_trials_create(lampar_ranks *ranks, size_t bytes,
                                            lampar_epilogue_trials **trials);
void lampar_epilogue_trials_destroy(lampar_epilogue_trials *trials);
lampar_epilogue_trial *lampar_epilogue_trials_get(lampar_epilogue_trials *trials,
                                                  const lampar_rank *rank);

/* Bytes of an image that holds this call on any rank. */
size_t lampar_epilogue_call_bytes(const lampar_variant *variant, const lampar_epilogue_call *call);

/* The steps, on a rank's thread. Samples and calls stay the caller's; all ranks give the same. */

/* How many of the calls fit into one batch; 0: the first is too large. */
size_t lampar_epilogue_trial_fit(const lampar_epilogue_trial *trial,
                                 const lampar_epilogue_samples *samples,
                                 const lampar_epilogue_call *calls, size_t count);

/* Lays the batch out, uploads it and waits for that. */
lampar_status lampar_epilogue_trial_prepare(lampar_epilogue_trial *trial,
                                            const lampar_epilogue_samples *samples,
                                            const lampar_epilogue_call *calls, size_t count);

/* The library's call for one of the batch. The operands are the trial's, until the next one is
 * asked for. */
lampar_call lampar_epilogue_trial_get(lampar_epilogue_trial *trial, size_t index);
lampar_status lampar_epilogue_trial_enqueue(lampar_epilogue_trial *trial, size_t index);

/* Waits for the calls and downloads the image. All ranks must have passed a barrier since they
 * enqueued. Then fails if a byte has changed that belongs to no output, and, with `check`, if an
 * output is not what it must be. */
lampar_status lampar_epilogue_trial_finish(lampar_epilogue_trial *trial, bool check,
                                           const lampar_stage_map *own_stages);

/* Of one row's outputs of a finished call, wherever they lay, or of what a quantising stage stores
 * alone; all NaNs are equal. */
void lampar_epilogue_trial_digest(lampar_epilogue_trial *trial, size_t index, uint64_t row,
                                  bool only_quantized, uint8_t digest[LAMPAR_DIGEST_BYTES]);

/* The whole of one batch on a rank, with the barriers between. */
lampar_status lampar_epilogue_trial_batch(lampar_epilogue_trial *trial,
                                          const lampar_epilogue_samples *samples,
                                          const lampar_epilogue_call *calls, size_t count,
                                          bool check, const lampar_stage_map *own_stages);

#endif
