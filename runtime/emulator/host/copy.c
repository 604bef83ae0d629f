/* Fills and copies: a device makes each at once, after all that is before it on the stream. */
#include <stdlib.h>
#include <string.h>

#include "emulator/exec/memory.h"
#include "emulator/exec/require.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"
#include "emulator/host/wait.h"

int cuMemsetD32Async(lampar_device_pointer pointer, unsigned value, size_t words,
                     struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  int result = CUDA_SUCCESS;
  if (pointer % 4 != 0 || (words && !memory_is_reachable(stream->device, pointer, words * 4)))
    result = CUDA_ERROR_INVALID_VALUE;
  if (result == CUDA_SUCCESS && words)
    result = stream_enqueue(
        stream,
        &(emu_task){.kind = WORK_FILL, .fill = {.at = pointer, .value = value, .words = words}},
        NULL);
  return machine_leave(result);
}

/* Whether a side of the copy lies in memory of the kind that the call names. */
static bool is_valid(int device, bool is_host, uintptr_t at, size_t bytes) {
  return is_host ? at != 0 : memory_is_reachable(device, at, bytes);
}

static bool is_pinned(uintptr_t at) {
  return memory_find(at, 1) != NULL;
}

/* As CUDA does it: bytes of pageable host memory are taken when the call is made, and a copy into
 * such memory returns when it is done. */
static int enqueue(struct CUstream_st *stream, emu_task *copy, bool from_host, bool to_host) {
  stream = stream_or_default(stream);
  const size_t width = copy->copy.width, height = copy->copy.height;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  const size_t from_bytes = (height - 1) * copy->copy.from_pitch + width;
  const size_t to_bytes = (height - 1) * copy->copy.to_pitch + width;
  if (copy->copy.from_pitch < (height > 1 ? width : 0) ||
      copy->copy.to_pitch < (height > 1 ? width : 0) ||
      !is_valid(stream->device, from_host, copy->copy.from, from_bytes) ||
      !is_valid(stream->device, to_host, copy->copy.to, to_bytes))
    return CUDA_ERROR_INVALID_VALUE;

  void *staged = NULL;
  if (from_host && stream->captured == NULL && !is_pinned(copy->copy.from)) {
    staged = require(malloc(from_bytes));
    memcpy(staged, (const void *)copy->copy.from, from_bytes);
    copy->copy.from = (uintptr_t)staged;
  }
  emu_work *enqueued = NULL;
  int result = stream_enqueue(stream, copy, &enqueued);
  if (enqueued != NULL) {
    enqueued->staged = staged;
    if (to_host && !is_pinned(copy->copy.to)) result = machine_wait(enqueued, false);
    work_release(enqueued);
  } else {
    free(staged);
  }
  return result;
}

int cuMemcpyHtoDAsync_v2(lampar_device_pointer to, const void *from, size_t bytes,
                         struct CUstream_st *stream) {
  machine_enter();
  emu_task copy = {.kind = WORK_COPY,
                   .copy = {.to = to, .from = (uintptr_t)from, .width = bytes, .height = 1}};
  return machine_leave(enqueue(stream, &copy, true, false));
}

int cuMemcpyDtoHAsync_v2(void *to, lampar_device_pointer from, size_t bytes,
                         struct CUstream_st *stream) {
  machine_enter();
  emu_task copy = {.kind = WORK_COPY,
                   .copy = {.to = (uintptr_t)to, .from = from, .width = bytes, .height = 1}};
  return machine_leave(enqueue(stream, &copy, false, true));
}

int cuMemcpy2DAsync_v2(const lampar_copy_2d *given, struct CUstream_st *stream) {
  const bool from_host = given->source_type == LAMPAR_MEMORYTYPE_HOST;
  const bool to_host = given->destination_type == LAMPAR_MEMORYTYPE_HOST;
  if ((!from_host && given->source_type != LAMPAR_MEMORYTYPE_DEVICE) ||
      (!to_host && given->destination_type != LAMPAR_MEMORYTYPE_DEVICE))
    return CUDA_ERROR_INVALID_VALUE; /* no arrays here */
  machine_enter();
  emu_task copy = {
      .kind = WORK_COPY,
      .copy = {.to = to_host ? (uintptr_t)given->destination_host
                             : (uintptr_t)given->destination_device,
               .from = from_host ? (uintptr_t)given->source_host : (uintptr_t)given->source_device,
               .to_pitch = given->destination_pitch,
               .from_pitch = given->source_pitch,
               .width = given->width,
               .height = given->height}};
  copy.copy.to += given->destination_y * given->destination_pitch + given->destination_x;
  copy.copy.from += given->source_y * given->source_pitch + given->source_x;
  return machine_leave(enqueue(stream, &copy, from_host, to_host));
}
