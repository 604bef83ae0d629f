/* The order of the calls of one lane. Its mailboxes serve one call at a time: calls on one stream
 * are in order already, calls on another stream are put behind. */
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

/* Before a call is enqueued on `stream`. Errors: CAPTURE, when a second stream of one capture
 * comes: a graph would run both at once. */
lampar_status lampar_lane_enter(lampar_lane *lane, const lampar_driver *driver,
                                struct CUstream_st *stream);

/* Waits for the eager calls. */
lampar_status lampar_lane_close(lampar_lane *lane, const lampar_driver *driver);

#endif
