/* NCCL's entry points that lampar uses, loaded at run time. The library that the process already
 * has comes first, because the caller's communicator belongs to it. Constants are NCCL's ABI
 * (nccl.h). */
#ifndef LAMPAR_NCCL_H
#define LAMPAR_NCCL_H

#include <stddef.h>
#include <stdint.h>

#include "base/shared_library.h"
#include "lampar/lampar.h"

typedef struct {
  char internal[128];
} lampar_nccl_id; /* ncclUniqueId */

enum { LAMPAR_NCCL_SUCCESS = 0, LAMPAR_NCCL_IN_PROGRESS = 7, LAMPAR_NCCL_UINT8 = 1 };

#define LAMPAR_NCCL_FUNCTIONS(X)                                                                   \
  X(int, version, ncclGetVersion, (int *version))                                                  \
  X(const char *, error_string, ncclGetErrorString, (int result))                                  \
  X(const char *, last_error, ncclGetLastError, (struct ncclComm * comm))                          \
  X(int, unique_id, ncclGetUniqueId, (lampar_nccl_id * id))                                        \
  X(int, init_rank, ncclCommInitRank,                                                              \
    (struct ncclComm * *comm, int world, lampar_nccl_id id, int rank))                             \
  X(int, destroy, ncclCommDestroy, (struct ncclComm * comm))                                       \
  X(int, count, ncclCommCount, (const struct ncclComm *comm, int *count))                          \
  X(int, user_rank, ncclCommUserRank, (const struct ncclComm *comm, int *rank))                    \
  X(int, device, ncclCommCuDevice, (const struct ncclComm *comm, int *device))                     \
  X(int, async_error, ncclCommGetAsyncError, (struct ncclComm * comm, int *result))                \
  X(int, all_reduce, ncclAllReduce,                                                                \
    (const void *input, void *output, size_t count, int dtype, int op, struct ncclComm *comm,      \
     struct CUstream_st *stream))                                                                  \
  X(int, all_gather, ncclAllGather,                                                                \
    (const void *input, void *output, size_t count, int dtype, struct ncclComm *comm,              \
     struct CUstream_st *stream))

typedef struct lampar_nccl {
  lampar_library library;
#define LAMPAR_NCCL_FIELD(type, field, symbol, parameters) type(*field) parameters;
  LAMPAR_NCCL_FUNCTIONS(LAMPAR_NCCL_FIELD)
#undef LAMPAR_NCCL_FIELD
} lampar_nccl;

/* Loads NCCL: the emulated one with LAMPAR_DEVICE=emu; else LAMPAR_NCCL_LIBRARY, else the process's
 * own, else libnccl.so.2. Errors: NCCL, naming the library. */
lampar_status lampar_nccl_open(lampar_nccl *nccl);

/* OK for success; else NCCL with "what: text". */
lampar_status lampar_nccl_check(const lampar_nccl *nccl, int result, const char *what);

/* NCCL's number for a dtype and an operation; -1: NCCL has none. */
int lampar_nccl_dtype(lampar_dtype dtype);
int lampar_nccl_op(lampar_op op);

#endif
