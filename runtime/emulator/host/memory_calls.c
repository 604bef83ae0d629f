/* Device memory and pinned host memory. */
#include "emulator/exec/memory.h"
#include "emulator/host/device.h"
#include "emulator/host/graph.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"

int cuMemAlloc_v2(lampar_device_pointer *pointer, size_t bytes) {
  machine_enter();
  const int device = device_current();
  uintptr_t start = 0;
  int result = stream_refuse_in_capture();
  if (result == CUDA_SUCCESS)
    result = device < 0 ? CUDA_ERROR_INVALID_CONTEXT
                        : memory_allocate(MEMORY_DEVICE, device, bytes, &start);
  *pointer = start;
  return machine_leave(result);
}

int cuMemFree_v2(lampar_device_pointer pointer) {
  if (pointer == 0) return CUDA_SUCCESS;
  machine_enter();
  int result = stream_refuse_in_capture();
  const emu_allocation *found = memory_find(pointer, 1);
  if (result == CUDA_SUCCESS && found == NULL) result = CUDA_ERROR_INVALID_VALUE;
  /* As on a GPU, nothing of the device is under way when its memory goes. A device that has failed
   * gives its memory back all the same. */
  if (result == CUDA_SUCCESS) {
    stream_synchronize_device(found->device);
    result = memory_release(pointer, MEMORY_DEVICE);
  }
  return machine_leave(result);
}

/* Captured, it is the graph's: at one address in every replay, until the graph is gone. */
int cuMemAllocAsync(lampar_device_pointer *pointer, size_t bytes, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  uintptr_t start = 0;
  const int result = memory_allocate(MEMORY_DEVICE, stream->device, bytes, &start);
  if (result == CUDA_SUCCESS && stream->captured != NULL) graph_own(stream->captured, start);
  *pointer = start;
  return machine_leave(result);
}

int cuMemFreeAsync(lampar_device_pointer pointer, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  const emu_allocation *found = memory_find(pointer, 1);
  const bool is_known = stream->captured != NULL ? graph_owns(stream->captured, pointer)
                                                 : found != NULL && found->start == pointer;
  int result = is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (is_known && stream->captured == NULL)
    result = stream_enqueue(stream, &(emu_task){.kind = WORK_FREE, .freed = pointer}, NULL);
  return machine_leave(result);
}

int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  (void)flags; /* all host memory is portable and mapped */
  machine_enter();
  uintptr_t start = 0;
  int result = stream_refuse_in_capture();
  if (result == CUDA_SUCCESS) result = memory_allocate(MEMORY_HOST, -1, bytes, &start);
  *pointer = (void *)start;
  return machine_leave(result);
}

int cuMemFreeHost(void *pointer) {
  machine_enter();
  int result = stream_refuse_in_capture();
  if (result == CUDA_SUCCESS) stream_synchronize_device(device_current());
  if (result == CUDA_SUCCESS) result = memory_release((uintptr_t)pointer, MEMORY_HOST);
  return machine_leave(result);
}

int cuMemHostGetDevicePointer_v2(lampar_device_pointer *device, void *pinned, unsigned flags) {
  (void)flags;
  machine_enter();
  const emu_allocation *found = memory_find((uintptr_t)pinned, 1);
  const bool is_pinned = found != NULL && found->owner == MEMORY_HOST;
  *device = is_pinned ? (uintptr_t)pinned : 0;
  return machine_leave(is_pinned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
