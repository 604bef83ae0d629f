/* The entry points that the emulator exports, exactly those of the runtime's two tables, and the
 * error numbers they return (CUDA's and NCCL's ABI). */
#ifndef LAMPAR_EMU_API_H
#define LAMPAR_EMU_API_H

#include "cuda/driver.h"
#include "cuda/nccl.h"

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(field, symbol, parameters) EXPORT int symbol parameters;
LAMPAR_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(type, field, symbol, parameters) EXPORT type symbol parameters;
LAMPAR_NCCL_FUNCTIONS(DECLARE)
#undef DECLARE

enum { /* CUresult */
       CUDA_SUCCESS = 0,
       CUDA_ERROR_INVALID_VALUE = 1,
       CUDA_ERROR_OUT_OF_MEMORY = 2,
       CUDA_ERROR_NOT_INITIALIZED = 3,
       CUDA_ERROR_INVALID_DEVICE = 101,
       CUDA_ERROR_INVALID_IMAGE = 200,
       CUDA_ERROR_INVALID_CONTEXT = 201,
       CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
       CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
       CUDA_ERROR_INVALID_HANDLE = 400,
       CUDA_ERROR_NOT_FOUND = 500,
       CUDA_ERROR_NOT_READY = 600,
       CUDA_ERROR_ILLEGAL_ADDRESS = 700,
       CUDA_ERROR_LAUNCH_TIMEOUT = 702,
       CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
       CUDA_ERROR_LAUNCH_FAILED = 719,
       CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
       CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
       CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
       CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
};

enum { /* ncclResult_t */
       NCCL_SUCCESS = 0,
       NCCL_UNHANDLED_CUDA_ERROR = 1,
       NCCL_SYSTEM_ERROR = 2,
       NCCL_INTERNAL_ERROR = 3,
       NCCL_INVALID_ARGUMENT = 4,
       NCCL_INVALID_USAGE = 5,
       NCCL_REMOTE_ERROR = 6,
};

#endif
