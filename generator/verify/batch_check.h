/* Calls whose results are known, run on every rank of a process and compared byte for byte.
 *
 * Each rank has one buffer, which holds the inputs, outputs and operands of a batch of calls with
 * guard bytes around each. After the calls the whole buffer is compared with its expected contents,
 * which also finds a byte written next to an output, or into an input. */
#ifndef LAMPAR_BATCH_CHECK_H
#define LAMPAR_BATCH_CHECK_H

#include "base/digest.h"
#include "verify/batch_layout.h"
#include "verify/epilogue_samples.h"
#include "verify/finished_call.h"
#include "verify/ranks.h"

enum {
  LAMPAR_BATCH_DTYPES = 3,
  /* A launch into a full queue waits, with the context's lock, for kernels that wait for other
   * ranks of the same context, which then cannot launch: a batch stays well below a queue's length.
   */
  LAMPAR_BATCH_CALLS = 32,
};

/* What the calls of a batch read, and how their outputs are compared. */
typedef struct lampar_batch_data {
  const lampar_samples *plain[LAMPAR_BATCH_DTYPES]; /* of plain calls, for the ranks' world; NULL
                                                       where no call has that dtype */
  const lampar_epilogue_samples *fused;             /* of fused calls; NULL: all calls are plain */
  const lampar_stage_map *own_stages;               /* more references; may be NULL */
  bool accepts_any; /* fused: any output is right, and only the bytes between them are compared */
} lampar_batch_data;

/* One batch on one rank. */
typedef struct lampar_batch lampar_batch;

/* On a rank's thread, after a batch has been compared. */
typedef lampar_status (*lampar_batch_function)(lampar_rank *rank, lampar_batch *batch,
                                               const lampar_check_call *calls, size_t count,
                                               void *user);

/* A batch for every rank (those beyond the world included), with buffers of `bytes`. Allocates, so
 * it comes before any kernel. Errors: DRIVER, SYSTEM. */
typedef struct lampar_batches lampar_batches;
lampar_status lampar_batches_create(lampar_ranks *ranks, size_t bytes, lampar_batches **batches);
void lampar_batches_destroy(lampar_batches *batches);
lampar_batch *lampar_batches_get(lampar_batches *batches, const lampar_rank *rank);

/* Runs the calls, as many at a time as the buffers hold, on the ranks' open groups, and calls
 * `after` (may be NULL) after each batch. Errors: the first failure of a rank; MISMATCH for a
 * wrong result, with rank, call, row, element, got and expected. */
lampar_status lampar_batches_run(lampar_batches *batches, const lampar_batch_data *data,
                                 const lampar_check_call *calls, size_t count,
                                 lampar_batch_function after, void *user);

/* The steps of it, on a rank's thread; all ranks give the same. How many of the calls fit into one
 * batch; 0: the first is too large. */
size_t lampar_batch_fit(const lampar_batch *batch, const lampar_batch_data *data,
                        const lampar_check_call *calls, size_t count);

/* Lays the batch out, uploads it and waits. It must fit. Data and calls stay the caller's. */
lampar_status lampar_batch_prepare(lampar_batch *batch, const lampar_batch_data *data,
                                   const lampar_check_call *calls, size_t count);

/* The library's call for one call of the batch. The batch owns its operands; they are valid until
 * the next lampar_batch_get. */
lampar_call lampar_batch_get(lampar_batch *batch, size_t index);
lampar_status lampar_batch_enqueue(lampar_batch *batch, size_t index);

/* Waits for the calls, downloads the buffer and compares. All ranks must have passed a barrier
 * since they enqueued. */
lampar_status lampar_batch_compare(lampar_batch *batch);

/* One whole batch on a rank, with the barriers between. */
lampar_status lampar_batch_run(lampar_batch *batch, const lampar_batch_data *data,
                               const lampar_check_call *calls, size_t count);

/* Digest of one row's outputs of a compared fused call, wherever they are, or only of those of a
 * quantising stage. All NaNs are equal. */
void lampar_batch_digest(lampar_batch *batch, size_t index, uint64_t row, bool only_quantized,
                         uint8_t digest[LAMPAR_DIGEST_BYTES]);

#endif
