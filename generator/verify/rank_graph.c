#include "verify/rank_graph.h"

#include "base/error.h"

lampar_status lampar_rank_graph_begin(lampar_rank *rank) {
  return lampar_rank_check(
      rank, rank->driver->stream_begin_capture(rank->stream[0], LAMPAR_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture");
}

lampar_status lampar_rank_graph_end(lampar_rank *rank, lampar_status status,
                                    lampar_rank_graph *graph) {
  *graph = (lampar_rank_graph){0};
  const int ended = rank->driver->stream_end_capture(rank->stream[0], &graph->graph);
  if (status != LAMPAR_OK) return status;
  LAMPAR_TRY(lampar_rank_check(rank, ended, "cuStreamEndCapture"));
  return lampar_rank_check(rank,
                           rank->driver->graph_instantiate(&graph->executable, graph->graph, 0),
                           "cuGraphInstantiateWithFlags");
}

lampar_status lampar_rank_graph_launch(const lampar_rank *rank, const lampar_rank_graph *graph) {
  return lampar_rank_check(rank, rank->driver->graph_launch(graph->executable, rank->stream[0]),
                           "cuGraphLaunch");
}

void lampar_rank_graph_free(const lampar_rank *rank, lampar_rank_graph *graph) {
  if (graph->executable != NULL) rank->driver->graph_executable_destroy(graph->executable);
  if (graph->graph != NULL) rank->driver->graph_destroy(graph->graph);
  *graph = (lampar_rank_graph){0};
}
