#include "emulator/host/stream.h"

#include <stdlib.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/require.h"
#include "emulator/host/device.h"
#include "emulator/host/graph.h"
#include "emulator/host/machine.h"
#include "emulator/host/wait.h"

enum { MODE_GLOBAL = 0, MODE_RELAXED = 2 };

static struct CUstream_st *streams; /* all of the process, the newest first */
static struct CUstream_st *defaults[DEVICES_MAX];
static unsigned counts[DEVICES_MAX]; /* made so far */
static int global_captures;
static _Thread_local int own_captures; /* begun by this thread, in a mode other than relaxed */
static _Thread_local int mode = MODE_GLOBAL;

static struct CUstream_st *create(int device) {
  struct CUstream_st *created = require(calloc(1, sizeof *created));
  created->device = device;
  created->index = counts[device]++;
  created->next = streams;
  streams = created;
  return created;
}

struct CUstream_st *stream_or_default(struct CUstream_st *stream) {
  if (stream != NULL) return stream;
  int device = device_current();
  if (device < 0) device = 0;
  if (defaults[device] == NULL) defaults[device] = create(device);
  return defaults[device];
}

void stream_append(struct CUstream_st *stream, emu_work *appended) {
  appended->key[0] = (uint64_t)stream->device;
  appended->key[1] = stream->index;
  appended->key[2] = ++stream->enqueued;
  work_order(stream->last, appended,
             appended->task.is_programmatic && stream->last != NULL &&
                 stream->last->task.kind == WORK_KERNEL);
  work_release(stream->last);
  stream->last = work_retain(appended);
  work_submit(appended);
}

int stream_enqueue(struct CUstream_st *stream, const emu_task *given, emu_work **enqueued) {
  emu_task task = *given;
  task.device = stream->device;
  if (enqueued != NULL) *enqueued = NULL;
  if (stream->captured != NULL) {
    const size_t node = graph_add(stream->captured, &task, stream->tails, stream->tail_count);
    stream->tails = require(realloc(stream->tails, sizeof *stream->tails));
    stream->tails[0] = node;
    stream->tail_count = 1;
    return CUDA_SUCCESS;
  }
  if (emu.devices[stream->device].error) return emu.devices[stream->device].error;
  emu_work *created = work_create(&task);
  stream_append(stream, created);
  if (enqueued != NULL) *enqueued = created;
  else work_release(created);
  return CUDA_SUCCESS;
}

int stream_refuse_in_capture(void) {
  if (mode == MODE_RELAXED) return CUDA_SUCCESS;
  const bool refused = own_captures > 0 || (mode == MODE_GLOBAL && global_captures > 0);
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

int stream_refuse_while_captured(const struct CUstream_st *stream) {
  return stream->captured != NULL ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

int stream_synchronize_device(int device) {
  if (device < 0) return CUDA_SUCCESS;
  for (struct CUstream_st *stream = streams; stream != NULL; stream = stream->next) {
    if (stream->device != device || stream->last == NULL || stream->last->is_done) continue;
    emu_work *last = work_retain(stream->last);
    machine_wait(last, false);
    work_release(last);
    stream = streams; /* the list may have changed meanwhile: from the start */
    if (emu.devices[device].error) break;
  }
  return emu.devices[device].error;
}

int cuStreamCreate(struct CUstream_st **stream, unsigned flags) {
  (void)flags; /* no stream waits for the default one by itself */
  machine_enter();
  const int device = device_current();
  *stream = device < 0 ? NULL : create(device);
  return machine_leave(device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
}

int cuStreamDestroy_v2(struct CUstream_st *stream) {
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  machine_enter();
  for (struct CUstream_st **link = &streams; *link != NULL; link = &(*link)->next)
    if (*link == stream) {
      *link = stream->next;
      break;
    }
  work_release(stream->last); /* what was enqueued still runs */
  free(stream->tails);
  free(stream);
  return machine_leave(CUDA_SUCCESS);
}

static int wait(struct CUstream_st *stream, bool is_query) {
  machine_enter();
  stream = stream_or_default(stream);
  int result = stream_refuse_while_captured(stream);
  if (result == CUDA_SUCCESS && !is_query) result = stream_refuse_in_capture();
  if (result == CUDA_SUCCESS) result = emu.devices[stream->device].error;
  if (result == CUDA_SUCCESS && stream->last != NULL) {
    emu_work *last = work_retain(stream->last);
    result = machine_wait(last, is_query);
    work_release(last);
  }
  return machine_leave(result);
}

int cuStreamSynchronize(struct CUstream_st *stream) {
  return wait(stream, false);
}

int cuStreamQuery(struct CUstream_st *stream) {
  return wait(stream, true);
}

int cuStreamGetCaptureInfo_v2(struct CUstream_st *stream, int *status, uint64_t *id,
                              struct CUgraph_st **graph,
                              const struct CUgraphNode_st *const **dependencies,
                              size_t *dependency_count) {
  machine_enter();
  const struct CUgraph_st *captured = stream_or_default(stream)->captured;
  *status = captured != NULL ? 1 : LAMPAR_CAPTURE_STATUS_NONE;
  if (id != NULL) *id = captured != NULL ? graph_id(captured) : 0;
  if (graph != NULL) *graph = NULL; /* nodes have no handles here */
  if (dependencies != NULL) *dependencies = NULL;
  if (dependency_count != NULL) *dependency_count = 0;
  return machine_leave(CUDA_SUCCESS);
}

int cuStreamBeginCapture_v2(struct CUstream_st *stream, int capture_mode) {
  if (stream == NULL) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED; /* as CUDA's default stream */
  machine_enter();
  if (stream->captured != NULL) return machine_leave(CUDA_ERROR_INVALID_VALUE);
  stream->captured = graph_create(capture_mode);
  stream->began_capture = true;
  stream->tail_count = 0;
  own_captures += capture_mode != MODE_RELAXED;
  global_captures += capture_mode == MODE_GLOBAL;
  return machine_leave(CUDA_SUCCESS);
}

int cuStreamEndCapture(struct CUstream_st *stream, struct CUgraph_st **graph) {
  *graph = NULL;
  if (stream == NULL) return CUDA_ERROR_INVALID_HANDLE;
  machine_enter();
  if (stream->captured == NULL || !stream->began_capture)
    return machine_leave(stream->captured != NULL ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
                                                  : CUDA_ERROR_INVALID_VALUE);
  struct CUgraph_st *captured = stream->captured;
  own_captures -= graph_mode(captured) != MODE_RELAXED;
  global_captures -= graph_mode(captured) == MODE_GLOBAL;
  bool is_joined = true;
  for (struct CUstream_st *other = streams; other != NULL; other = other->next) {
    if (other->captured != captured) continue;
    for (size_t i = 0; i < other->tail_count; ++i)
      is_joined &= graph_precedes(captured, other->tails[i], stream->tails, stream->tail_count);
    if (other != stream) other->tail_count = 0;
    other->captured = NULL;
    other->began_capture = false;
  }
  stream->tail_count = 0;
  if (is_joined) *graph = captured;
  else graph_release(captured);
  return machine_leave(is_joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

bool stream_is_captured_as(uint64_t id) {
  for (const struct CUstream_st *stream = streams; stream != NULL; stream = stream->next)
    if (stream->captured != NULL && graph_id(stream->captured) == id) return true;
  return false;
}

void stream_join(struct CUstream_st *stream, struct CUgraph_st *graph, const size_t *tails,
                 size_t count) {
  stream->captured = graph;
  stream->tails =
      require(realloc(stream->tails, (stream->tail_count + count + 1) * sizeof *stream->tails));
  for (size_t i = 0; i < count; ++i) stream->tails[stream->tail_count++] = tails[i];
}

int cuThreadExchangeStreamCaptureMode(int *exchanged) {
  const int before = mode;
  mode = *exchanged;
  *exchanged = before;
  return CUDA_SUCCESS;
}
