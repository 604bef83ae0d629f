/* NCCL's entry points: communicators, and the calls that enqueue. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emulator/exec/collective.h"
#include "emulator/exec/memory.h"
#include "emulator/exec/reduction.h"
#include "emulator/exec/require.h"
#include "emulator/host/device.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"

typedef struct emu_identity {
  char magic[8];
  int process, file;
  uint64_t inode;
} emu_identity;

static const char magic[8] = "lampemu";
enum { JOIN_SECONDS = 60 };

static _Thread_local int group_depth;
static _Thread_local struct ncclComm *joining; /* begun in this group, waits at its end */

int ncclGetVersion(int *version) {
  *version = 22809; /* the interface is that of 2.28.9 */
  return NCCL_SUCCESS;
}

const char *ncclGetErrorString(int result) {
  switch (result) {
  case NCCL_SUCCESS: return "no error";
  case NCCL_UNHANDLED_CUDA_ERROR: return "unhandled cuda error";
  case NCCL_SYSTEM_ERROR: return "unhandled system error";
  case NCCL_INTERNAL_ERROR: return "internal error";
  case NCCL_INVALID_ARGUMENT: return "invalid argument";
  case NCCL_INVALID_USAGE: return "invalid usage";
  case NCCL_REMOTE_ERROR: return "remote process exited or there was a network error";
  default: return "unknown result code";
  }
}

const char *ncclGetLastError(struct ncclComm *comm) {
  return comm != NULL ? comm->message : "";
}

int ncclGetUniqueId(lampar_nccl_id *id) {
  struct stat status;
  const int file = memfd_create("lampar-emu-nccl", MFD_CLOEXEC); /* open as long as the process */
  if (file < 0 || ftruncate(file, sizeof(emu_meeting)) != 0 || fstat(file, &status) != 0)
    return NCCL_SYSTEM_ERROR;
  emu_identity made = {.process = getpid(), .file = file, .inode = status.st_ino};
  memcpy(made.magic, magic, sizeof magic);
  memset(id, 0, sizeof *id);
  memcpy(id, &made, sizeof made);
  return NCCL_SUCCESS;
}

static emu_meeting *meeting_open(const lampar_nccl_id *id) {
  emu_identity taken;
  char path[64];
  struct stat status;
  memcpy(&taken, id, sizeof taken);
  if (memcmp(taken.magic, magic, sizeof magic) != 0) return NULL;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", taken.process, taken.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return NULL;
  void *mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_ino == taken.inode)
    mapped = mmap(NULL, sizeof(emu_meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static void share(void) {
  machine_enter();
  emu.is_shared = true;
  machine_leave(CUDA_SUCCESS);
}

/* Waits until all ranks are there. Not within the machine: others may need it meanwhile. */
static int join(struct ncclComm *comm) {
  for (int ms = 0;; ++ms) {
    int present = 0;
    for (int r = 0; r < comm->world; ++r) present += atomic_load(&comm->meeting->ranks[r].joined);
    if (present == comm->world) break;
    if (ms > JOIN_SECONDS * 1000) {
      snprintf(comm->message, sizeof comm->message, "%d of %d ranks joined within %d s", present,
               comm->world, JOIN_SECONDS);
      return NCCL_SYSTEM_ERROR;
    }
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  for (int r = 0; r < comm->world; ++r) {
    const emu_meeting_rank *a = &comm->meeting->ranks[r];
    if (a->process != getpid()) share();
    for (int s = 0; s < r; ++s)
      if (a->device == comm->meeting->ranks[s].device) {
        snprintf(comm->message, sizeof comm->message, "ranks %d and %d are both on device %d", s, r,
                 a->device);
        return NCCL_INVALID_USAGE;
      }
  }
  return NCCL_SUCCESS;
}

int ncclCommInitRank(struct ncclComm **result, int world, lampar_nccl_id id, int rank) {
  *result = NULL;
  const int device = device_current();
  if (world < 1 || world > MEETING_RANKS_MAX || rank < 0 || rank >= world)
    return NCCL_INVALID_ARGUMENT;
  if (device < 0) return NCCL_UNHANDLED_CUDA_ERROR;
  emu_meeting *meeting = meeting_open(&id);
  if (meeting == NULL) return NCCL_INVALID_ARGUMENT;
  struct ncclComm *comm = require(calloc(1, sizeof *comm));
  *comm = (struct ncclComm){.meeting = meeting, .world = world, .rank = rank, .device = device};
  emu_meeting_rank *own = &meeting->ranks[rank];
  own->process = getpid();
  own->device = host.numbers[device];
  atomic_store(&own->joined, 1);
  if (group_depth > 0) {
    comm->next_joining = joining;
    joining = comm;
    *result = comm;
    return NCCL_SUCCESS;
  }
  const int status = join(comm);
  if (status == NCCL_SUCCESS) *result = comm;
  else ncclCommDestroy(comm);
  return status;
}

int ncclCommDestroy(struct ncclComm *comm) {
  if (comm == NULL) return NCCL_SUCCESS;
  machine_enter();
  stream_synchronize_device(comm->device);
  communicator_close(comm);
  munmap(comm->meeting, sizeof(emu_meeting));
  free(comm);
  machine_leave(CUDA_SUCCESS);
  return NCCL_SUCCESS;
}

int ncclCommCount(const struct ncclComm *comm, int *count) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  *count = comm->world;
  return NCCL_SUCCESS;
}

int ncclCommUserRank(const struct ncclComm *comm, int *rank) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  *rank = comm->rank;
  return NCCL_SUCCESS;
}

int ncclCommCuDevice(const struct ncclComm *comm, int *device) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  *device = comm->device;
  return NCCL_SUCCESS;
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *result) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  machine_enter();
  *result = comm->error;
  machine_leave(CUDA_SUCCESS);
  return NCCL_SUCCESS;
}

int ncclGroupStart(void) {
  ++group_depth;
  return NCCL_SUCCESS;
}

/* Calls were enqueued when they were made, which nobody can tell apart: none of them waits. */
int ncclGroupEnd(void) {
  if (group_depth == 0) return NCCL_INVALID_USAGE;
  if (--group_depth > 0) return NCCL_SUCCESS;
  int status = NCCL_SUCCESS;
  while (joining != NULL) {
    struct ncclComm *comm = joining;
    joining = comm->next_joining;
    if (status == NCCL_SUCCESS) status = join(comm);
  }
  return status;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct ncclComm *comm, const char *format,
                                                        ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(comm->message, sizeof comm->message, format, arguments);
  va_end(arguments);
  return NCCL_INVALID_ARGUMENT;
}

static int enqueue(struct ncclComm *comm, const emu_task *task, struct CUstream_st *stream) {
  const size_t element = reduction_bytes(task->collective.dtype);
  const size_t bytes = task->collective.count * element;
  const size_t output_bytes = bytes * (size_t)(task->collective.gathers ? comm->world : 1);
  if (element == 0) return refuse(comm, "dtype %d does not exist", task->collective.dtype);
  if (!reduction_is_op(task->collective.op))
    return refuse(comm, "op %d does not exist", task->collective.op);
  if (bytes == 0) return NCCL_SUCCESS;
  machine_enter();
  int status = NCCL_SUCCESS;
  stream = stream_or_default(stream);
  const emu_allocation *input = memory_find(task->collective.input, bytes);
  if (comm->error) status = comm->error;
  else if (stream->device != comm->device)
    status = refuse(comm, "the stream is of device %d, the communicator of %d", stream->device,
                    comm->device);
  else if (input == NULL || input->owner == MEMORY_IMPORTED ||
           !memory_is_reachable(comm->device, task->collective.input, bytes))
    status = refuse(comm, "the input is not memory of the device");
  else if (!memory_is_reachable(comm->device, task->collective.output, output_bytes))
    status = refuse(comm, "the output is not memory of the device");
  else if (stream_enqueue(stream, task, NULL) != CUDA_SUCCESS) status = NCCL_UNHANDLED_CUDA_ERROR;
  machine_leave(CUDA_SUCCESS);
  return status;
}

int ncclAllReduce(const void *input, void *output, size_t count, int dtype, int op,
                  struct ncclComm *comm, struct CUstream_st *stream) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  return enqueue(comm,
                 &(emu_task){.kind = WORK_COLLECTIVE,
                             .collective = {.comm = comm,
                                            .input = (uintptr_t)input,
                                            .output = (uintptr_t)output,
                                            .count = count,
                                            .dtype = dtype,
                                            .op = op}},
                 stream);
}

int ncclAllGather(const void *input, void *output, size_t count, int dtype, struct ncclComm *comm,
                  struct CUstream_st *stream) {
  if (comm == NULL) return NCCL_INVALID_ARGUMENT;
  return enqueue(comm,
                 &(emu_task){.kind = WORK_COLLECTIVE,
                             .collective = {.comm = comm,
                                            .gathers = true,
                                            .input = (uintptr_t)input,
                                            .output = (uintptr_t)output,
                                            .count = count,
                                            .dtype = dtype}},
                 stream);
}
