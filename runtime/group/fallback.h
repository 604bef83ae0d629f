/* The same call by NCCL. */
#ifndef LAMPAR_FALLBACK_H
#define LAMPAR_FALLBACK_H

#include "cuda/driver.h"
#include "cuda/nccl.h"

/* Input to output. */
lampar_status lampar_fallback(const lampar_driver *driver, const lampar_nccl *nccl,
                              struct ncclComm *comm, const lampar_call *call,
                              struct CUstream_st *stream);

/* Input to a contiguous buffer of its own, for what comes after the sum; given back in the order of
 * the stream. Both may be captured. */
lampar_status lampar_fallback_sum(const lampar_driver *driver, const lampar_nccl *nccl,
                                  struct ncclComm *comm, const lampar_call *call,
                                  lampar_device_pointer *sum, struct CUstream_st *stream);
lampar_status lampar_fallback_release(const lampar_driver *driver, lampar_device_pointer sum,
                                      struct CUstream_st *stream);

#endif
