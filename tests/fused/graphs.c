/* Fused calls in graphs that are replayed with other inputs. */
#include "error.h"
#include "fused.h"

enum { CALLS = 3, REPLAYS = 10 };

static void next_rows(const fused_run *run, int replay, lampar_epilogue_call calls[CALLS]) {
  const uint64_t limit =
      run->lab->rows < run->key->rows_limit ? run->lab->rows : run->key->rows_limit;
  for (int i = 0; i < CALLS; ++i)
    calls[i] = (lampar_epilogue_call){.rows = limit < 3 ? 1 : 1 + (uint64_t)i,
                                      .first_row = (uint64_t)(replay * 7 + i) % 13,
                                      .in_place = i == 2};
}

static lampar_status check(const lampar_rank *rank, int result, const char *what) {
  return lampar_driver_check(rank->driver, result, what);
}

static lampar_status capture(lampar_rank *rank, lampar_epilogue_trial *trial,
                             struct CUgraph_st **graph) {
  LAMPAR_TRY(check(
      rank, rank->driver->stream_begin_capture(rank->stream[0], LAMPAR_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture"));
  lampar_status status = LAMPAR_OK;
  for (size_t i = 0; i < CALLS && status == LAMPAR_OK; ++i)
    status = lampar_epilogue_trial_enqueue(trial, i);
  const int ended = rank->driver->stream_end_capture(rank->stream[0], graph);
  return status != LAMPAR_OK ? status : check(rank, ended, "cuStreamEndCapture");
}

/* The calls' places stay, what they hold changes. */
static lampar_status replay(lampar_rank *rank, const fused_run *run, lampar_epilogue_trial *trial,
                            struct CUgraphExec_st *executable) {
  for (int i = 0; i < REPLAYS; ++i) {
    lampar_epilogue_call calls[CALLS];
    next_rows(run, i, calls);
    LAMPAR_TRY(lampar_epilogue_trial_prepare(trial, run->samples, calls, CALLS));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(
        check(rank, rank->driver->graph_launch(executable, rank->stream[0]), "cuGraphLaunch"));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(lampar_epilogue_trial_finish(trial, false, NULL));
    LAMPAR_TRY(fused_enter_rows(run, trial, calls, CALLS));
  }
  return LAMPAR_OK;
}

static lampar_status run_graph(lampar_rank *rank, void *user) {
  const fused_run *run = user;
  const lampar_driver *driver = rank->driver;
  lampar_epilogue_trial *trial = lampar_epilogue_trials_get(run->lab->trials, rank);
  lampar_epilogue_call calls[CALLS];
  struct CUgraph_st *graph = NULL;
  struct CUgraphExec_st *executable = NULL;
  next_rows(run, 0, calls);
  LAMPAR_TRY(lampar_epilogue_trial_prepare(trial, run->samples, calls, CALLS));
  lampar_status status = capture(rank, trial, &graph);
  if (status == LAMPAR_OK)
    status = check(rank, driver->graph_instantiate(&executable, graph, 0),
                   "cuGraphInstantiateWithFlags");
  if (status == LAMPAR_OK) status = replay(rank, run, trial, executable);
  if (executable != NULL) driver->graph_executable_destroy(executable);
  if (graph != NULL) driver->graph_destroy(graph);
  return status;
}

lampar_status check_fused_graphs(fused_lab *lab, fused_key *key, int pack) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(lab, key, 0, &samples));
  fused_run run = {lab, key, pack, &samples, "a graph", true};
  const lampar_status status = lampar_ranks_run(lab->ranks, run_graph, &run);
  lampar_epilogue_samples_destroy(&samples);
  key->calls += REPLAYS * CALLS;
  return status;
}
