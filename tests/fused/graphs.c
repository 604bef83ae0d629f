/* Fused calls in graphs that are replayed with other inputs. */
#include "base/error.h"
#include "fused.h"
#include "verify/rank_graph.h"

enum { CALLS = 3, REPLAYS = 10 };

static void next_rows(const fused_run *run, int replay, lampar_check_call calls[CALLS]) {
  const uint64_t limit =
      run->fixture->rows < run->key->max_rows ? run->fixture->rows : run->key->max_rows;
  for (int i = 0; i < CALLS; ++i)
    calls[i] = (lampar_check_call){.rows = limit < 3 ? 1 : 1 + (uint64_t)i,
                                   .first_row = (uint64_t)(replay * 7 + i) % 13,
                                   .in_place = i == 2};
}

/* The calls' places stay, what they hold changes. */
static lampar_status replay(lampar_rank *rank, const fused_run *run, lampar_batch *batch,
                            const lampar_rank_graph *graph) {
  for (int i = 0; i < REPLAYS; ++i) {
    lampar_check_call calls[CALLS];
    next_rows(run, i, calls);
    LAMPAR_TRY(lampar_batch_prepare(batch, run->data, calls, CALLS));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(lampar_rank_graph_launch(rank, graph));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(lampar_batch_compare(batch));
    LAMPAR_TRY(fused_enter_rows(run, batch, calls, CALLS));
  }
  return LAMPAR_OK;
}

static lampar_status run_graph(lampar_rank *rank, void *user) {
  const fused_run *run = user;
  lampar_batch *batch = lampar_batches_get(run->fixture->batches, rank);
  lampar_check_call calls[CALLS];
  lampar_rank_graph graph = {0};
  next_rows(run, 0, calls);
  LAMPAR_TRY(lampar_batch_prepare(batch, run->data, calls, CALLS));
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = LAMPAR_OK;
  for (size_t i = 0; i < CALLS && status == LAMPAR_OK; ++i) status = lampar_batch_enqueue(batch, i);
  status = lampar_rank_graph_end(rank, status, &graph);
  if (status == LAMPAR_OK) status = replay(rank, run, batch, &graph);
  lampar_rank_graph_free(rank, &graph);
  return status;
}

lampar_status check_fused_graphs(fused_fixture *fixture, fused_key *key, int pack) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(fixture, key, 0, &samples));
  const lampar_batch_data data = {.fused = &samples, .accepts_any = true};
  fused_run run = {fixture, key, pack, &data, "a graph", true};
  const lampar_status status = lampar_ranks_run(fixture->ranks, run_graph, &run);
  lampar_epilogue_samples_destroy(&samples);
  key->calls += REPLAYS * CALLS;
  return status;
}
