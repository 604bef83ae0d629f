/* The test of fused kernels: their results, and the promise of the same bits. */
#ifndef LAMPAR_TEST_FUSED_H
#define LAMPAR_TEST_FUSED_H

#include "golden_rows.h"
#include "verify/batch_check.h"
#include "verify/epilogue_check.h"

enum { ROWS_MAX = 128, WATCHDOG_MS = 20000 };

/* An epilogue of a shape, whatever kernels take its calls. */
typedef struct fused_key {
  lampar_variant variant; /* any kernel of it */
  uint64_t max_rows;      /* of all of them */
  golden_rows golden_rows;
  golden_rows
      *quantized; /* what the last stage stores, with that of the key that has norm_out as well */
  golden_rows own_quantized;
  bool has_nccl;      /* NCCL and the epilogue's kernel have been compared */
  char failure[1024]; /* "": none */
  uint64_t calls;
} fused_key;

typedef struct fused_fixture {
  lampar_ranks *ranks;
  lampar_batches *batches;
  lampar_pack *pack[GOLDEN_ROWS_PACKS]; /* the same kernels in other geometries */
  int pack_count;
  uint64_t rows; /* most rows of a call; samples have some more */
} fused_fixture;

/* What a list of calls is run for. */
typedef struct fused_run {
  fused_fixture *fixture;
  fused_key *key;
  int pack;
  const lampar_batch_data *data;
  const char *what; /* for messages */
  bool has_promise; /* the rows go into the golden_rows */
} fused_run;

/* Functions of one element for the stages of tests/fused/stages. */
extern const lampar_stage_map fused_own_stages[];

/* Samples with the set of scalars. */
lampar_status fused_samples(const fused_fixture *fixture, const fused_key *key, int scalars,
                            lampar_epilogue_samples *samples);

/* Runs the calls on the open groups and enters their rows into golden_rows. */
lampar_status fused_run_calls(const fused_run *run, const lampar_check_call *calls, size_t count);

/* On a rank's thread: a finished batch's rows into the golden_rows. */
lampar_status fused_enter_rows(const fused_run *run, lampar_batch *batch,
                               const lampar_check_call *calls, size_t count);

/* The checks, on open groups of the pack. */
lampar_status check_fused_values(fused_fixture *fixture, fused_key *key, int pack);
lampar_status check_fused_rows(fused_fixture *fixture, fused_key *key, int pack);
lampar_status check_fused_graphs(fused_fixture *fixture, fused_key *key, int pack);
lampar_status check_fused_operands(fused_fixture *fixture, fused_key *key);

/* The same rows by NCCL and the epilogue's own kernel. On groups that are not enabled. */
lampar_status check_fused_fallback(fused_fixture *fixture, fused_key *key, int pack);

/* The unfused sequence: what the plain all-reduce gives (other tests hold its kernels to exactly
 * that), then the epilogue's own kernel. On a group of one rank. */
lampar_status check_epilogue_only(fused_fixture *fixture, fused_key *key, int pack);

#endif
