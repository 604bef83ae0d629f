/* Calls whose results are known, run on every rank of a process and compared byte for byte.
 *
 * Each rank has one image: host memory and device memory of the same layout, which holds the inputs
 * and outputs of a batch of calls with guard bytes around them. After the calls the whole image is
 * compared with what it must be, so a byte written beside an output, or into an input, is found as
 * well. */
#ifndef LAMPAR_TRIAL_H
#define LAMPAR_TRIAL_H

#include "verify/ranks.h"
#include "verify/samples.h"

enum { LAMPAR_TRIAL_DTYPES = 3 };

typedef struct lampar_trial_call {
  uint32_t dtype;
  uint64_t rows, hidden;
  uint64_t first;       /* the input's first element in the samples; rows follow each other there */
  uint32_t input_shift; /* elements that the input is beyond an address divisible by 16 */
  uint32_t output_shift; /* the same for the output */
  uint32_t rank_shift;   /* added once for each rank to the one, three times to the other */
  uint32_t gap,
      rank_gap;  /* elements between rows: gap + rank * rank_gap, in the output backwards */
  bool in_place; /* the output is where the input was */
  bool chained;  /* the input is the output of the call before, which has the same shape */
  uint32_t lane;
  uint32_t stream; /* 0 or 1 */
} lampar_trial_call;

/* One batch on one rank. */
typedef struct lampar_trial lampar_trial;

/* Of each dtype, for the ranks' world; those that no call uses may be NULL. */
typedef const lampar_samples *const *lampar_trial_samples;

/* A trial for every rank (those beyond the world included), with images of `bytes`. Allocates, so
 * it comes before any kernel. Errors: DRIVER, SYSTEM. */
typedef struct lampar_trials lampar_trials;
lampar_status lampar_trials_create(lampar_ranks *ranks, size_t bytes, lampar_trials **trials);
void lampar_trials_destroy(lampar_trials *trials);
lampar_trial *lampar_trials_get(lampar_trials *trials, const lampar_rank *rank);

/* Runs the calls, as many at a time as the images hold, on the ranks' open groups. Errors: the
 * first failure of a rank; SYSTEM for a wrong result, with rank, call, row, element, got and
 * expected. */
lampar_status lampar_trials_run(lampar_trials *trials, lampar_trial_samples samples,
                                const lampar_trial_call *calls, size_t count);

/* The steps of it, on a rank's thread. How many of the calls fit into one batch; 0: the first is
 * too large. */
size_t lampar_trial_fit(const lampar_trial *trial, const lampar_trial_call *calls, size_t count);

/* Lays the batch out and uploads it. It must fit. The calls stay the caller's. Waits for the
 * upload. */
lampar_status lampar_trial_prepare(lampar_trial *trial, lampar_trial_samples samples,
                                   const lampar_trial_call *calls, size_t count);

/* The library's call for one call of the batch, on its stream. */
lampar_call lampar_trial_get(const lampar_trial *trial, size_t index);
lampar_status lampar_trial_enqueue(lampar_trial *trial, size_t index);

/* Waits for the calls, downloads the image and compares. All ranks must have passed a barrier since
 * they enqueued. */
lampar_status lampar_trial_check(lampar_trial *trial);

/* The whole of one batch on a rank, with the barriers between. */
lampar_status lampar_trial_batch(lampar_trial *trial, lampar_trial_samples samples,
                                 const lampar_trial_call *calls, size_t count);

#endif
