#include "emulator/exec/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/errors.h"
#include "emulator/exec/require.h"

/* Sorted by address. */
static emu_allocation *allocations;
static size_t allocation_count;

const emu_allocation *memory_find(uintptr_t at, size_t bytes) {
  size_t low = 0, high = allocation_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const emu_allocation *found = &allocations[middle];
    if (at < found->start) high = middle;
    else if (at >= found->start + found->bytes) low = middle + 1;
    else return bytes <= found->start + found->bytes - at ? found : NULL;
  }
  return NULL;
}

bool memory_is_reachable(int device, uintptr_t at, size_t bytes) {
  const emu_allocation *found = memory_find(at, bytes);
  if (found == NULL) return false;
  return found->owner != MEMORY_DEVICE || found->device == device ||
         (emu.devices[device].peers >> found->device & 1);
}

static void insert(emu_allocation added) {
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
int memory_allocate(emu_memory_owner owner, int device, size_t bytes, uintptr_t *start) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  emu_allocation added = {
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

int memory_release(uintptr_t start, emu_memory_owner owner) {
  const emu_allocation *found = memory_find(start, 1);
  if (found == NULL || found->start != start || found->owner != owner)
    return CUDA_ERROR_INVALID_VALUE;
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
  insert((emu_allocation){*start, bytes, whole_pages(bytes), MEMORY_IMPORTED, device, -1});
  emu.is_shared = true;
  return CUDA_SUCCESS;
}
