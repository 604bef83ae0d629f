/* Events: a place in a stream, or in a graph that is being captured. */
#include <stdlib.h>
#include <string.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/require.h"
#include "emulator/host/graph.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"
#include "emulator/host/wait.h"

struct CUevent_st {
  emu_work *work; /* NULL: not recorded, or nothing was before it */
  struct CUgraph_st *graph;
  uint64_t graph_id; /* not 0: recorded in a capture */
  size_t *tails;
  size_t tail_count;
};

int cuEventCreate(struct CUevent_st **event, unsigned flags) {
  (void)flags;
  *event = require(calloc(1, sizeof **event));
  return CUDA_SUCCESS;
}

int cuEventDestroy_v2(struct CUevent_st *event) {
  machine_enter();
  work_release(event->work);
  free(event->tails);
  free(event);
  return machine_leave(CUDA_SUCCESS);
}

int cuEventRecord(struct CUevent_st *event, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  work_release(event->work);
  event->work = NULL;
  event->graph_id = 0;
  if (stream->captured != NULL) {
    event->graph = stream->captured;
    event->graph_id = graph_id(stream->captured);
    event->tail_count = stream->tail_count;
    event->tails = require(realloc(event->tails, (event->tail_count + 1) * sizeof *event->tails));
    if (event->tail_count > 0)
      memcpy(event->tails, stream->tails, event->tail_count * sizeof *event->tails);
  } else {
    event->work = work_retain(stream->last);
  }
  return machine_leave(CUDA_SUCCESS);
}

int cuStreamWaitEvent(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags) {
  (void)flags;
  machine_enter();
  stream = stream_or_default(stream);
  if (event->graph_id != 0) {
    const bool is_open = stream_is_captured_as(event->graph_id);
    if (!is_open || (stream->captured != NULL && stream->captured != event->graph))
      return machine_leave(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    stream_join(stream, event->graph, event->tails, event->tail_count);
    return machine_leave(CUDA_SUCCESS);
  }
  if (stream->captured != NULL) return machine_leave(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (event->work != NULL) {
    emu_work *join = work_create(&(emu_task){.kind = WORK_NOTHING, .device = stream->device});
    work_order(event->work, join, false);
    stream_append(stream, join);
    work_release(join);
  }
  return machine_leave(CUDA_SUCCESS);
}

static int wait(struct CUevent_st *event, bool is_query) {
  machine_enter();
  int result = CUDA_SUCCESS;
  if (event->graph_id != 0) result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  else if (!is_query) result = stream_refuse_in_capture();
  if (result == CUDA_SUCCESS && event->work != NULL) {
    emu_work *recorded = work_retain(event->work);
    result = machine_wait(recorded, is_query);
    work_release(recorded);
  }
  return machine_leave(result);
}

int cuEventQuery(struct CUevent_st *event) {
  return wait(event, true);
}

int cuEventSynchronize(struct CUevent_st *event) {
  return wait(event, false);
}

/* A step of the scheduler counts as a nanosecond: more work takes longer, and nothing else is
 * meant. */
int cuEventElapsedTime(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end) {
  machine_enter();
  int result = CUDA_SUCCESS;
  if (start->graph_id || end->graph_id) result = CUDA_ERROR_INVALID_HANDLE;
  else if ((start->work != NULL && !start->work->is_done) ||
           (end->work != NULL && !end->work->is_done))
    result = CUDA_ERROR_NOT_READY;
  else
    *milliseconds = (float)((double)((end->work != NULL ? end->work->ended_at : 0) -
                                     (start->work != NULL ? start->work->ended_at : 0)) *
                            1e-6);
  return machine_leave(result);
}
