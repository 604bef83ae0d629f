/* Collectives of the emulated NCCL. The ranks of a communicator, in whatever process, meet in
 * shared memory. A call goes step by step: post the input, wait for all posts, compute, wait until
 * all have computed, and only then write the output, which may be the input. */
#ifndef LAMPAR_EMU_COLLECTIVE_H
#define LAMPAR_EMU_COLLECTIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/exec/work.h"

enum { MEETING_RANKS_MAX = 16 };

/* What a rank posts about its call, and how far it is. All calls of a communicator are
 * numbered from 1, in the order in which its stream runs them. */
typedef struct emu_meeting_rank {
  atomic_int joined;
  int process, device;
  atomic_uint_least64_t posted;   /* the fields below are those of this call */
  atomic_uint_least64_t computed; /* it no longer needs the others' inputs of this call */
  bool gathers;
  int dtype, op, file;
  uint64_t count, inode, file_bytes, offset, address;
} emu_meeting_rank;

typedef struct emu_meeting {
  emu_meeting_rank ranks[MEETING_RANKS_MAX];
} emu_meeting;

typedef struct emu_mapped_file {
  int process, file;
  uint64_t inode;
  uintptr_t start;
} emu_mapped_file;

struct ncclComm {
  emu_meeting *meeting;
  int world, rank, device;
  int error;
  char message[256];
  uint64_t calls;         /* begun */
  emu_work *current;      /* the call that is under way; NULL: none */
  void *result;           /* kept until nobody reads this rank's input any more */
  emu_mapped_file *files; /* of other processes */
  size_t file_count;
  struct ncclComm *next_joining;
};

/* Frees what calls have left; the meeting stays. */
void communicator_close(struct ncclComm *comm);

/* Takes a collective as far as the other ranks allow. */
typedef enum emu_collective_progress {
  COLLECTIVE_WAITS,
  COLLECTIVE_MOVED, /* posted something that the other ranks wait for */
  COLLECTIVE_ENDED,
} emu_collective_progress;
emu_collective_progress collective_step(emu_work *work);
/* "NCCL all-reduce 7 of rank 1 waits for ranks 0 2" */
void collective_describe(const emu_work *work, char *text, size_t size);

#endif
