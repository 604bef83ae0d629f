/* The same call by NCCL. */
#ifndef LAMPAR_FALLBACK_H
#define LAMPAR_FALLBACK_H

#include "driver.h"
#include "nccl.h"

lampar_status lampar_fallback(const lampar_driver *driver, const lampar_nccl *nccl,
                              struct ncclComm *comm, const lampar_call *call,
                              struct CUstream_st *stream);

#endif
