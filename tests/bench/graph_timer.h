/* Microseconds of a CUDA graph that is replayed without a pause. */
#ifndef LAMPAR_GRAPH_TIMER_H
#define LAMPAR_GRAPH_TIMER_H

#include "verify/rank_graph.h"

enum { GRAPH_TIMER_REPLAYS_MAX = 101 };

/* A rank's events. Start from zeros. */
typedef struct graph_timer {
  int replays;
  struct CUevent_st *event[GRAPH_TIMER_REPLAYS_MAX + 1];
} graph_timer;

lampar_status graph_timer_open(graph_timer *timer, const lampar_rank *rank, int replays);
void graph_timer_close(graph_timer *timer, const lampar_rank *rank);

/* The median over the replays, in us, of one of them. All ranks call it at once, and pass a barrier
 * before it ends. */
lampar_status graph_timer_run(const graph_timer *timer, lampar_rank *rank,
                              const lampar_rank_graph *graph, double *us);

/* Sorts the values. */
double median_of(double *values, int count);

#endif
