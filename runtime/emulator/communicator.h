/* A communicator of the emulated NCCL: its ranks, in whatever process, meet in shared memory. */
#ifndef LAMPAR_EMU_COMMUNICATOR_H
#define LAMPAR_EMU_COMMUNICATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "work.h"

enum { MEETING_RANKS_MAX = 16 };

/* What a rank tells the others about its call, and how far it is. All calls of a communicator are
 * numbered from 1, in the order in which its stream runs them. */
typedef struct meeting_rank {
  atomic_int joined;
  int process, device;
  atomic_uint_least64_t posted;   /* the fields below are those of this call */
  atomic_uint_least64_t computed; /* it no longer needs the others' inputs of this call */
  bool gathers;
  int dtype, op, file;
  uint64_t count, inode, file_bytes, offset, address;
} meeting_rank;

typedef struct meeting {
  meeting_rank ranks[MEETING_RANKS_MAX];
} meeting;

typedef struct mapped_file {
  int process, file;
  uint64_t inode;
  uintptr_t start;
} mapped_file;

struct ncclComm {
  meeting *meeting;
  int world, rank, device;
  int error;
  char message[256];
  uint64_t calls;     /* begun */
  work *current;      /* the call that is under way; NULL: none */
  void *result;       /* kept until nobody reads this rank's input any more */
  mapped_file *files; /* of other processes */
  size_t file_count;
  struct ncclComm *next_joining;
};

/* Gives back what calls have left; the meeting stays. */
void communicator_close(struct ncclComm *comm);

#endif
