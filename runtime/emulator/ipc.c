/* Memory of another process: the handle says which file of which process it is. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "memory.h"

typedef struct handle {
  char magic[8];
  int process, file, device;
  uint64_t inode, bytes;
} handle;
_Static_assert(sizeof(handle) <= sizeof(lampar_ipc_handle), "a handle has 64 bytes");

static const char magic[8] = "lampemu";

int cuIpcGetMemHandle(lampar_ipc_handle *given, lampar_device_pointer pointer) {
  machine_enter();
  const allocation *found = memory_find(pointer, 1);
  struct stat status;
  if (!found || found->owner != MEMORY_DEVICE || fstat(found->file, &status) != 0)
    return machine_leave(CUDA_ERROR_INVALID_VALUE);
  handle made = {.process = getpid(),
                 .file = found->file,
                 .device = found->device,
                 .inode = status.st_ino,
                 .bytes = found->bytes};
  memcpy(made.magic, magic, sizeof magic);
  memset(given, 0, sizeof *given);
  memcpy(given, &made, sizeof made);
  emu.is_shared = true;
  return machine_leave(CUDA_SUCCESS);
}

int cuIpcOpenMemHandle_v2(lampar_device_pointer *pointer, lampar_ipc_handle given, unsigned flags) {
  (void)flags;
  *pointer = 0;
  handle taken;
  memcpy(&taken, &given, sizeof taken);
  if (memcmp(taken.magic, magic, sizeof magic) != 0 || taken.process == getpid())
    return CUDA_ERROR_INVALID_VALUE; /* CUDA refuses a process's own handle as well */
  machine_enter();
  uintptr_t start = 0;
  const int result =
      memory_import(taken.process, taken.file, taken.inode, taken.bytes, taken.device, &start);
  *pointer = start;
  return machine_leave(result);
}

int cuIpcCloseMemHandle(lampar_device_pointer pointer) {
  machine_enter();
  return machine_leave(memory_give_back(pointer, MEMORY_IMPORTED));
}
