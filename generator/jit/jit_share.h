/* Ranks that build together: each compiles a part of the missing kernels, and all end up with the
 * same bytes.
 *
 * Collective functions are called by all ranks or none, in the same order. Whatever can fail on one
 * rank alone, fails before a vote: then the function returns that rank's status and message on all
 * ranks, and no further step follows. When a step itself fails, because a rank did not arrive, the
 * build ends without another one. */
#ifndef LAMPAR_JIT_SHARE_H
#define LAMPAR_JIT_SHARE_H

#include "exchange/exchange.h"
#include "jit/jit_kernels.h"
#include "pack/variant.h"

/* The code that a rank sends: that of its kernels, one after the other. */
typedef struct lampar_jit_blob {
  char *bytes;
  size_t size;
} lampar_jit_blob;

typedef struct lampar_jit_share {
  lampar_channel *channel;
  struct lampar_jit_entry *inventory; /* of all ranks: entry rank * count + kernel */
  char *messages;                     /* of one step, by rank */
  lampar_jit_blob blobs[LAMPAR_WORLD_MAX];
} lampar_jit_share;

/* Frees the buffers. Start from zeros and a channel. */
void lampar_jit_share_close(lampar_jit_share *share);

/* Collective. After rendering, which went as `own` says: decides which kernels this rank compiles.
 * Errors: the first failure of a rank; ARGUMENT (the ranks have different kernels); NO_KERNEL,
 * SYSTEM (a kernel that no rank has and none can compile); those of the channel. */
lampar_status lampar_jit_share_work(lampar_jit_share *share, lampar_jit_kernels *kernels,
                                    lampar_status own);

/* Collective. After compiling, which went as `own` says: sends the code of every kernel that some
 * rank lacks, or has with different bytes. Errors: the first failure of a rank; those of the
 * channel. */
lampar_status lampar_jit_share_code(lampar_jit_share *share, lampar_jit_kernels *kernels,
                                    lampar_status own);

/* Takes over the code that was sent, and stores it in the cache. Not collective: a vote has to
 * follow. Errors: SYSTEM. */
lampar_status lampar_jit_share_receive(const lampar_jit_share *share, lampar_jit_kernels *kernels);

/* Collective. OK when `own` is OK on all ranks, else the first failure of a rank. */
lampar_status lampar_jit_share_vote(const lampar_jit_share *share, const char *step,
                                    lampar_status own);

#endif
