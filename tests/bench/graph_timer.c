#include "graph_timer.h"

#include <stdlib.h>

#include "base/error.h"

enum { WARM_UP = 3 };

lampar_status graph_timer_open(graph_timer *timer, const lampar_rank *rank, int replays) {
  timer->replays = replays;
  for (int i = 0; i <= replays; ++i)
    LAMPAR_TRY(lampar_rank_check(
        rank, rank->driver->event_create(&timer->event[i], LAMPAR_EVENT_DEFAULT), "cuEventCreate"));
  return LAMPAR_OK;
}

void graph_timer_close(graph_timer *timer, const lampar_rank *rank) {
  for (int i = 0; i <= timer->replays; ++i)
    if (timer->event[i] != NULL) rank->driver->event_destroy(timer->event[i]);
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double median_of(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return values[count / 2];
}

/* All replays are enqueued at once, an event between them: the ranks stay in step. */
lampar_status graph_timer_run(const graph_timer *timer, lampar_rank *rank,
                              const lampar_rank_graph *graph, double *us) {
  const lampar_driver *driver = rank->driver;
  for (int i = 0; i < WARM_UP; ++i) LAMPAR_TRY(lampar_rank_graph_launch(rank, graph));
  LAMPAR_TRY(lampar_rank_finish(rank));
  LAMPAR_TRY(lampar_rank_barrier(rank));

  /* The launch before the first event brings the ranks into step. */
  for (int i = 0; i <= timer->replays; ++i) {
    LAMPAR_TRY(lampar_rank_graph_launch(rank, graph));
    LAMPAR_TRY(lampar_rank_check(rank, driver->event_record(timer->event[i], rank->stream[0]),
                                 "cuEventRecord"));
  }
  LAMPAR_TRY(lampar_rank_finish(rank));

  double all[GRAPH_TIMER_REPLAYS_MAX];
  for (int i = 0; i < timer->replays; ++i) {
    float ms;
    LAMPAR_TRY(lampar_rank_check(rank,
                                 driver->event_elapsed(&ms, timer->event[i], timer->event[i + 1]),
                                 "cuEventElapsedTime"));
    all[i] = (double)ms * 1000;
  }
  *us = median_of(all, timer->replays);
  return lampar_rank_barrier(rank);
}
