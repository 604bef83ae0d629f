/* Memory of another process: the handle names the file and its process. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/exec/memory.h"
#include "emulator/host/machine.h"

typedef struct emu_handle {
  char magic[8];
  int process, file, device;
  uint64_t inode, bytes;
} emu_handle;
_Static_assert(sizeof(emu_handle) <= sizeof(lampar_ipc_handle), "a handle has 64 bytes");

static const char magic[8] = "lampemu";

int cuIpcGetMemHandle(lampar_ipc_handle *given, lampar_device_pointer pointer) {
  machine_enter();
  const emu_allocation *found = memory_find(pointer, 1);
  struct stat status;
  if (found == NULL || found->owner != MEMORY_DEVICE || fstat(found->file, &status) != 0)
    return machine_leave(CUDA_ERROR_INVALID_VALUE);
  emu_handle made = {.process = getpid(),
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
  emu_handle taken;
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
  return machine_leave(memory_release(pointer, MEMORY_IMPORTED));
}
