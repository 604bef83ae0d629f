/* A CUDA graph of what a rank enqueues on its first stream between begin and end. */
#ifndef LAMPAR_RANK_GRAPH_H
#define LAMPAR_RANK_GRAPH_H

#include "verify/ranks.h"

/* Start from zeros. */
typedef struct lampar_rank_graph {
  struct CUgraph_st *graph;
  struct CUgraphExec_st *executable;
} lampar_rank_graph;

/* Errors: DRIVER. */
lampar_status lampar_rank_graph_begin(lampar_rank *rank);

/* Ends the capture in any case. `status` is how the calls in it went: a failure is handed on, with
 * its message, and there is nothing to launch. Errors: that, DRIVER. */
lampar_status lampar_rank_graph_end(lampar_rank *rank, lampar_status status,
                                    lampar_rank_graph *graph);

/* On the rank's first stream. Errors: DRIVER. */
lampar_status lampar_rank_graph_launch(const lampar_rank *rank, const lampar_rank_graph *graph);

/* Takes one that begin or end has left incomplete, too. Leaves zeros. */
void lampar_rank_graph_free(const lampar_rank *rank, lampar_rank_graph *graph);

#endif
