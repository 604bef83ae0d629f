#include "memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph.h"
#include "machine.h"
#include "require.h"
#include "stream.h"

/* Sorted by address. */
static allocation *allocations;
static size_t allocation_count;

const allocation *memory_find(uintptr_t at, size_t bytes) {
  size_t low = 0, high = allocation_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const allocation *found = &allocations[middle];
    if (at < found->start) high = middle;
    else if (at >= found->start + found->bytes) low = middle + 1;
    else return bytes <= found->start + found->bytes - at ? found : NULL;
  }
  return NULL;
}

bool memory_is_reachable(int device, uintptr_t at, size_t bytes) {
  const allocation *found = memory_find(at, bytes);
  if (!found) return false;
  return found->owner != MEMORY_DEVICE || found->device == device ||
         (emu.devices[device].peers >> found->device & 1);
}

static void insert(allocation added) {
  allocations = require(realloc(allocations, (allocation_count + 1) * sizeof *allocations));
  size_t at = allocation_count++;
  for (; at > 0 && allocations[at - 1].start > added.start; --at)
    allocations[at] = allocations[at - 1];
  allocations[at] = added;
}

static size_t whole_pages(size_t bytes) {
  return (bytes + 4095) & ~(size_t)4095;
}

/* A file without a name: it takes nothing of /dev/shm, and leaves nothing behind when a process
 * dies. */
int memory_allocate(memory_owner owner, int device, size_t bytes, uintptr_t *start) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  allocation added = {
      .bytes = bytes, .mapped = whole_pages(bytes), .owner = owner, .device = device, .file = -1};
  added.file = memfd_create("lampar-emu", MFD_CLOEXEC);
  if (added.file < 0 || ftruncate(added.file, (off_t)added.mapped) != 0) goto failed;
  void *mapped = mmap(NULL, added.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, added.file, 0);
  if (mapped == MAP_FAILED) goto failed;
  memset(mapped, 0xa5, bytes); /* whoever trusts fresh memory shall be seen */
  added.start = (uintptr_t)mapped;
  insert(added);
  *start = added.start;
  return CUDA_SUCCESS;
failed:
  if (added.file >= 0) close(added.file);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

int memory_give_back(uintptr_t start, memory_owner owner) {
  const allocation *found = memory_find(start, 1);
  if (!found || found->start != start || found->owner != owner) return CUDA_ERROR_INVALID_VALUE;
  munmap((void *)start, found->mapped);
  if (found->file >= 0) close(found->file);
  const size_t at = (size_t)(found - allocations);
  memmove(allocations + at, allocations + at + 1, (--allocation_count - at) * sizeof *allocations);
  return CUDA_SUCCESS;
}

int memory_import(int process, int file, uint64_t inode, size_t bytes, int device,
                  uintptr_t *start) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", process, file);
  const int opened = open(path, O_RDWR | O_CLOEXEC);
  if (opened < 0) return CUDA_ERROR_INVALID_VALUE;
  void *mapped = MAP_FAILED;
  if (fstat(opened, &status) == 0 && status.st_ino == inode) /* not a later file of that number */
    mapped = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  close(opened);
  if (mapped == MAP_FAILED) return CUDA_ERROR_INVALID_VALUE;
  *start = (uintptr_t)mapped;
  insert((allocation){*start, bytes, whole_pages(bytes), MEMORY_IMPORTED, device, -1});
  emu.is_shared = true;
  return CUDA_SUCCESS;
}

int cuMemAlloc_v2(lampar_device_pointer *pointer, size_t bytes) {
  machine_enter();
  const int device = machine_current_device();
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
  const allocation *found = memory_find(pointer, 1);
  if (result == CUDA_SUCCESS && !found) result = CUDA_ERROR_INVALID_VALUE;
  /* As on a GPU, nothing of the device is under way when its memory goes. A device that has failed
   * gives its memory back all the same. */
  if (result == CUDA_SUCCESS) {
    stream_synchronize_device(found->device);
    result = memory_give_back(pointer, MEMORY_DEVICE);
  }
  return machine_leave(result);
}

/* Captured, it is the graph's: at one address in every replay, until the graph is gone. */
int cuMemAllocAsync(lampar_device_pointer *pointer, size_t bytes, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  uintptr_t start = 0;
  const int result = memory_allocate(MEMORY_DEVICE, stream->device, bytes, &start);
  if (result == CUDA_SUCCESS && stream->captured) graph_own(stream->captured, start);
  *pointer = start;
  return machine_leave(result);
}

int cuMemFreeAsync(lampar_device_pointer pointer, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  const allocation *found = memory_find(pointer, 1);
  const bool is_known =
      stream->captured ? graph_owns(stream->captured, pointer) : found && found->start == pointer;
  int result = is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (is_known && !stream->captured)
    result = stream_enqueue(stream, &(task){.kind = WORK_FREE, .freed = pointer}, NULL);
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
  if (result == CUDA_SUCCESS) stream_synchronize_device(machine_current_device());
  if (result == CUDA_SUCCESS) result = memory_give_back((uintptr_t)pointer, MEMORY_HOST);
  return machine_leave(result);
}

int cuMemHostGetDevicePointer_v2(lampar_device_pointer *device, void *host, unsigned flags) {
  (void)flags;
  machine_enter();
  const allocation *found = memory_find((uintptr_t)host, 1);
  const bool is_pinned = found && found->owner == MEMORY_HOST;
  *device = is_pinned ? (uintptr_t)host : 0;
  return machine_leave(is_pinned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
