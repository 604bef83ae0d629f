#include "group/lane.h"

#include "base/error.h"

lampar_status lampar_lane_open(lampar_lane *lane, const lampar_driver *driver) {
  *lane = (lampar_lane){0};
  return lampar_driver_check(
      driver, driver->event_create(&lane->event, LAMPAR_EVENT_DISABLE_TIMING), "cuEventCreate");
}

static lampar_status read_capture(const lampar_driver *driver, struct CUstream_st *stream,
                                  bool *is_captured, uint64_t *capture) {
  int state = LAMPAR_CAPTURE_STATUS_NONE;
  const int result = driver->stream_capture_info(stream, &state, capture, NULL, NULL, NULL);
  if (result != LAMPAR_CUDA_SUCCESS)
    return lampar_driver_check(driver, result, "cuStreamGetCaptureInfo");
  *is_captured = state != LAMPAR_CAPTURE_STATUS_NONE;
  return LAMPAR_OK;
}

lampar_status lampar_lane_enter(lampar_lane *lane, const lampar_driver *driver,
                                struct CUstream_st *stream) {
  bool is_captured = false;
  uint64_t capture = 0;
  LAMPAR_TRY(read_capture(driver, stream, &is_captured, &capture));
  if (is_captured) {
    if (lane->has_capture && lane->capture == capture && lane->capture_stream != stream)
      return lampar_fail(
          LAMPAR_ERROR_CAPTURE,
          "two streams of one capture call the same group: the graph would run both at "
          "once. Capture the calls on one stream, or give each its own lane "
          "(config.lanes, call.lane)");
    lane->has_capture = true;
    lane->capture = capture;
    lane->capture_stream = stream;
    return LAMPAR_OK;
  }
  if (lane->has_stream && lane->stream != stream) {
    LAMPAR_TRY(read_capture(driver, lane->stream, &is_captured, &capture));
    if (is_captured)
      return lampar_fail(LAMPAR_ERROR_CAPTURE,
                         "the stream of the group's last call is being captured: a call on another "
                         "stream cannot wait for it. End the capture first");
    LAMPAR_TRY(lampar_driver_check(driver, driver->event_record(lane->event, lane->stream),
                                   "cuEventRecord on the stream of the last call"));
    LAMPAR_TRY(lampar_driver_check(driver, driver->stream_wait_event(stream, lane->event, 0),
                                   "cuStreamWaitEvent"));
  }
  lane->has_stream = true;
  lane->stream = stream;
  return LAMPAR_OK;
}

lampar_status lampar_lane_close(lampar_lane *lane, const lampar_driver *driver) {
  lampar_status status = LAMPAR_OK;
  if (lane->has_stream)
    status = lampar_driver_check(driver, driver->stream_synchronize(lane->stream),
                                 "waiting for the group's last call");
  if (lane->event != NULL) driver->event_destroy(lane->event);
  *lane = (lampar_lane){0};
  return status;
}
