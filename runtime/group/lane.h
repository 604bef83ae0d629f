/* The order of the calls of one lane, whose mailboxes serve one call at a time. Calls on one stream
 * are in order already; a call on another stream waits for the previous one with an event. */
#ifndef LAMPAR_LANE_H
#define LAMPAR_LANE_H

#include <stdbool.h>

#include "cuda/driver.h"

typedef struct lampar_lane {
  struct CUevent_st *event;
  struct CUstream_st *stream; /* of the last eager call */
  bool has_stream;
  struct CUstream_st *capture_stream; /* of the last captured call */
  uint64_t capture;                   /* and its capture */
  bool has_capture;
} lampar_lane;

lampar_status lampar_lane_open(lampar_lane *lane, const lampar_driver *driver);

/* Orders a call that is about to be enqueued on `stream`. Errors: CAPTURE, for a second stream of
 * one capture: the graph would run both calls at once. */
lampar_status lampar_lane_enter(lampar_lane *lane, const lampar_driver *driver,
                                struct CUstream_st *stream);

/* Waits for the eager calls and destroys the event. */
lampar_status lampar_lane_close(lampar_lane *lane, const lampar_driver *driver);

#endif
