/* The small collective that set-up is made of, over whatever carries it, with a name for each step
 * so that a wait that does not end can say where it is. */
#ifndef LAMPAR_EXCHANGE_H
#define LAMPAR_EXCHANGE_H

#include "base/log.h"
#include "cuda/driver.h"
#include "cuda/nccl.h"

/* An exchange over an NCCL communicator, on a stream of its own. */
typedef struct lampar_nccl_exchange {
  const lampar_driver *driver;
  const lampar_nccl *nccl;
  const lampar_logger *logger;
  struct ncclComm *comm;
  struct CUstream_st *stream;
  lampar_device_pointer buffer; /* one message, then one of each rank */
  int deadline_s;
  int world;
} lampar_nccl_exchange;

enum {
  LAMPAR_EXCHANGE_BYTES_MAX = 4096,
  LAMPAR_EXCHANGE_DEADLINE_S = 600 /* ranks may come late: they compile first */
};

lampar_status lampar_nccl_exchange_open(lampar_nccl_exchange *exchange, const lampar_driver *driver,
                                        const lampar_nccl *nccl, const lampar_logger *logger,
                                        struct ncclComm *comm, lampar_exchange *result);
void lampar_nccl_exchange_close(lampar_nccl_exchange *exchange);

/* A checked copy of the caller's exchange, which messages call `what`. Errors: ARGUMENT. */
lampar_status lampar_exchange_copy(const lampar_exchange *given, const char *what,
                                   lampar_exchange *copy);

/* Runs one step of "group set-up", or whatever the activity is. Errors: TIMEOUT or SYSTEM, naming
 * both. */
lampar_status lampar_exchange_step(const lampar_exchange *exchange, const char *activity,
                                   const char *step, const void *mine, void *all, size_t bytes);

#endif
