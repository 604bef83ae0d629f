#include "emulator/exec/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/errors.h"
#include "emulator/exec/memory.h"
#include "emulator/exec/reduction.h"
#include "emulator/exec/require.h"
#include "emulator/exec/seed.h"
#include "emulator/exec/watch.h"

void communicator_close(struct ncclComm *comm) {
  for (size_t i = 0; i < comm->file_count; ++i)
    memory_release(comm->files[i].start, MEMORY_IMPORTED);
  free(comm->files);
  free(comm->result);
}

static void post(struct ncclComm *comm, const emu_task *task) {
  emu_meeting_rank *own = &comm->meeting->ranks[comm->rank];
  const emu_allocation *input = memory_find(task->collective.input, 1);
  struct stat status = {0};
  if (input != NULL) fstat(input->file, &status);
  own->gathers = task->collective.gathers;
  own->dtype = task->collective.dtype;
  own->op = task->collective.op;
  own->count = task->collective.count;
  own->address = task->collective.input;
  own->file = input != NULL ? input->file : -1;
  own->inode = status.st_ino;
  own->file_bytes = input != NULL ? input->bytes : 0;
  own->offset = input != NULL ? task->collective.input - input->start : 0;
  atomic_store(&own->posted, ++comm->calls);
}

static bool all_posted(const struct ncclComm *comm) {
  for (int r = 0; r < comm->world; ++r)
    if (atomic_load(&comm->meeting->ranks[r].posted) < comm->calls) return false;
  return true;
}

static bool all_computed(const struct ncclComm *comm) {
  for (int r = 0; r < comm->world; ++r)
    if (atomic_load(&comm->meeting->ranks[r].computed) < comm->calls) return false;
  return true;
}

/* NULL: it cannot be mapped. */
static const void *input_of(struct ncclComm *comm, const emu_meeting_rank *rank) {
  if (rank->process == getpid()) return (const void *)(uintptr_t)rank->address;
  for (size_t i = 0; i < comm->file_count; ++i) {
    const emu_mapped_file *known = &comm->files[i];
    if (known->process == rank->process && known->file == rank->file && known->inode == rank->inode)
      return (const void *)(known->start + rank->offset);
  }
  emu_mapped_file added = {rank->process, rank->file, rank->inode, 0};
  if (memory_import(rank->process, rank->file, rank->inode, rank->file_bytes, comm->device,
                    &added.start) != CUDA_SUCCESS)
    return NULL;
  comm->files = require(realloc(comm->files, (comm->file_count + 1) * sizeof *comm->files));
  comm->files[comm->file_count++] = added;
  return (const void *)(added.start + rank->offset);
}

static bool is_same_call(const emu_meeting_rank *a, const emu_meeting_rank *b) {
  return a->gathers == b->gathers && a->dtype == b->dtype && a->op == b->op && a->count == b->count;
}

static void fail(struct ncclComm *comm, const char *message) {
  comm->error = NCCL_INVALID_USAGE;
  snprintf(comm->message, sizeof comm->message, "%s", message);
  fprintf(stderr, "lampar-emu: NCCL call %llu of rank %d: %s\n", (unsigned long long)comm->calls,
          comm->rank, message);
  report_seed();
  emu.devices[comm->device].error = CUDA_ERROR_LAUNCH_FAILED;
}

static void compute(struct ncclComm *comm, const emu_task *task) {
  const emu_meeting_rank *own = &comm->meeting->ranks[comm->rank];
  const void *inputs[MEETING_RANKS_MAX];
  const size_t bytes = task->collective.count * reduction_bytes(task->collective.dtype);
  char message[128];
  for (int r = 0; r < comm->world; ++r) {
    const emu_meeting_rank *rank = &comm->meeting->ranks[r];
    if (!is_same_call(own, rank)) {
      snprintf(message, sizeof message,
               "rank %d calls another collective, or with another count, dtype or op", r);
      fail(comm, message);
      return;
    }
    inputs[r] = input_of(comm, rank);
    if (inputs[r] == NULL) {
      fail(comm, "the memory of another process cannot be mapped");
      return;
    }
  }
  comm->result =
      require(realloc(comm->result, bytes * (task->collective.gathers ? comm->world : 1)));
  if (task->collective.gathers)
    for (int r = 0; r < comm->world; ++r)
      memcpy((char *)comm->result + (size_t)r * bytes, inputs[r], bytes);
  else
    reduction_run(comm->result, inputs, comm->world, task->collective.count, task->collective.dtype,
                  task->collective.op);
}

emu_collective_progress collective_step(emu_work *work) {
  struct ncclComm *comm = work->task.collective.comm;
  emu_meeting_rank *own = &comm->meeting->ranks[comm->rank];
  if (comm->current == NULL) {
    comm->current = work;
    post(comm, &work->task);
    return COLLECTIVE_MOVED;
  }
  if (comm->current != work) return COLLECTIVE_WAITS; /* a communicator makes one call at a time */
  if (atomic_load(&own->computed) < comm->calls) {
    if (!all_posted(comm)) return COLLECTIVE_WAITS;
    compute(comm, &work->task);
    atomic_store(&own->computed, comm->calls);
    return COLLECTIVE_MOVED;
  }
  if (!all_computed(comm)) return COLLECTIVE_WAITS;
  comm->current = NULL;
  if (comm->error) return COLLECTIVE_ENDED;
  const size_t bytes = work->task.collective.count * reduction_bytes(work->task.collective.dtype) *
                       (size_t)(work->task.collective.gathers ? comm->world : 1);
  memcpy((void *)work->task.collective.output, comm->result, bytes);
  memory_changed_range(work->task.collective.output, bytes);
  return COLLECTIVE_ENDED;
}

void collective_describe(const emu_work *work, char *text, size_t size) {
  const struct ncclComm *comm = work->task.collective.comm;
  size_t at = (size_t)snprintf(text, size, "NCCL %s %llu of rank %d waits for",
                               work->task.collective.gathers ? "all-gather" : "all-reduce",
                               (unsigned long long)comm->calls, comm->rank);
  for (int r = 0; r < comm->world && at < size; ++r)
    if (atomic_load(&comm->meeting->ranks[r].posted) < comm->calls)
      at += (size_t)snprintf(text + at, size - at, " rank %d", r);
}
