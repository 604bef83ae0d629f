/* An all-reduce by NCCL, for calls that no kernel takes. */
#ifndef LAMPAR_FALLBACK_H
#define LAMPAR_FALLBACK_H

#include "cuda/driver.h"
#include "cuda/nccl.h"

/* Reduces input to output. May be captured. */
lampar_status lampar_fallback(const lampar_driver *driver, const lampar_nccl *nccl,
                              struct ncclComm *comm, const lampar_call *call,
                              struct CUstream_st *stream);

/* Reduces input to a new contiguous buffer, for an epilogue. Release the buffer on the same stream.
 * Both calls may be captured. */
lampar_status lampar_fallback_sum(const lampar_driver *driver, const lampar_nccl *nccl,
                                  struct ncclComm *comm, const lampar_call *call,
                                  lampar_device_pointer *sum, struct CUstream_st *stream);
lampar_status lampar_fallback_release(const lampar_driver *driver, lampar_device_pointer sum,
                                      struct CUstream_st *stream);

#endif
