/* Device and pinned host memory. Every access of a kernel is checked against it. */
#ifndef LAMPAR_EMU_MEMORY_H
#define LAMPAR_EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_memory_owner { MEMORY_DEVICE, MEMORY_HOST, MEMORY_IMPORTED } emu_memory_owner;

typedef struct emu_allocation {
  uintptr_t start;
  size_t bytes;  /* as requested */
  size_t mapped; /* whole pages */
  emu_memory_owner owner;
  int device;
  int file; /* another process opens it by this number; -1: none */
} emu_allocation;

/* The allocation that holds all of `bytes` from `at`; NULL: none does. Valid until the next change.
 */
const emu_allocation *memory_find(uintptr_t at, size_t bytes);

/* Whether kernels and copies of the device may touch those bytes. */
bool memory_is_reachable(int device, uintptr_t at, size_t bytes);

int memory_allocate(emu_memory_owner owner, int device, size_t bytes, uintptr_t *start);
int memory_release(uintptr_t start, emu_memory_owner owner);

/* Maps memory of another process, by its number there. 0, or an error. */
int memory_import(int process, int file, uint64_t inode, size_t bytes, int device,
                  uintptr_t *start);

#endif
