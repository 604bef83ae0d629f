/* The channel over which ranks set up together: the caller's exchange, or NCCL. Each step has a
 * name, so that an error can say where a rank waited. */
#ifndef LAMPAR_EXCHANGE_H
#define LAMPAR_EXCHANGE_H

#include "base/error.h"
#include "base/log.h"
#include "cuda/driver.h"
#include "cuda/nccl.h"

enum {
  LAMPAR_EXCHANGE_BYTES_MAX = 4096,    /* of a rank's message */
  LAMPAR_EXCHANGE_TIMEOUT_MS = 120000, /* bound of a step; ranks start at different times */
  LAMPAR_EXCHANGE_COMPILE_MS = 600000, /* the same where ranks wait for compilers */
  LAMPAR_EXCHANGE_DESTROY_MS = 10000,  /* the same after a failure, when a rank may be gone */
};

typedef struct lampar_channel {
  const char *activity; /* "group set-up": starts every message */
  int rank, world;
  lampar_exchange exchange; /* the caller's; only without `comm` */

  struct ncclComm *comm; /* NULL: the caller's exchange */
  const lampar_driver *driver;
  const lampar_nccl *nccl;
  const lampar_logger *logger;
  int device;               /* of the communicator */
  struct CUctx_st *context; /* its primary context, retained */
  struct CUstream_st *stream;
  void *buffer; /* pinned host memory: one message, then one of each rank */
  uint32_t timeout_ms;
} lampar_channel;

/* Over a checked copy of the caller's exchange, which messages call `what`. Errors: ARGUMENT. */
lampar_status lampar_channel_over_exchange(lampar_channel *channel, const char *activity,
                                           const lampar_exchange *given, const char *what);

/* Over an NCCL communicator, on a stream and in the context that belong to it. The calling thread
 * needs no context of its own, and may be capturing a stream: a rank that has failed for such a
 * reason can still say so. Driver, NCCL and logger must outlive the channel. Errors: NCCL, DRIVER,
 * ARGUMENT. */
lampar_status lampar_channel_over_nccl(lampar_channel *channel, const char *activity,
                                       const lampar_driver *driver, const lampar_nccl *nccl,
                                       const lampar_logger *logger, struct ncclComm *comm,
                                       uint32_t timeout_ms);
void lampar_channel_close(lampar_channel *channel);

/* Gives every rank the `bytes` of all ranks. Errors: TIMEOUT, NCCL, DRIVER or, from the caller's
 * exchange, SYSTEM; the message names activity, step and rank. */
lampar_status lampar_channel_gather(const lampar_channel *channel, const char *step,
                                    const void *mine, void *all, size_t bytes);

/* Shares how a step went on each rank: `own`, with the calling thread's message. `first` becomes
 * the failure of the lowest rank that failed, the same on all ranks and naming that rank; LAMPAR_OK
 * when none did. Errors: those of the gather. */
lampar_status lampar_channel_vote(const lampar_channel *channel, const char *step,
                                  lampar_status own, lampar_failure *first);

#endif
