#include "fallback.h"

#include <stdbool.h>

#include "error.h"
#include "variant.h"

/* Rows from one stride to another. */
static lampar_status copy_rows(const lampar_driver *driver, const lampar_call *call,
                               lampar_device_pointer to, uint64_t to_stride,
                               lampar_device_pointer from, uint64_t from_stride,
                               struct CUstream_st *stream) {
  const size_t element = lampar_dtype_bytes(call->dtype);
  const lampar_copy_2d copy = {
      .source_type = LAMPAR_MEMORYTYPE_DEVICE,
      .source_device = from,
      .source_pitch = from_stride * element,
      .destination_type = LAMPAR_MEMORYTYPE_DEVICE,
      .destination_device = to,
      .destination_pitch = to_stride * element,
      .width = call->row_length * element,
      .height = call->rows,
  };
  return lampar_driver_check(driver, driver->copy_2d_async(&copy, stream), "cuMemcpy2DAsync");
}

static lampar_status reduce(const lampar_nccl *nccl, struct ncclComm *comm, const lampar_call *call,
                            const void *input, void *output, struct CUstream_st *stream) {
  const int result =
      nccl->all_reduce(input, output, call->rows * call->row_length, lampar_nccl_dtype(call->dtype),
                       lampar_nccl_op(call->op), comm, stream);
  if (result == LAMPAR_NCCL_IN_PROGRESS) return LAMPAR_OK; /* a communicator that does not block */
  return lampar_nccl_check(nccl, result, "ncclAllReduce");
}

/* NCCL knows no strides, and they may differ by rank, so that they must not change what NCCL is
 * asked for: rows that lie apart pass through a contiguous buffer. */
static lampar_status reduce_apart(const lampar_driver *driver, const lampar_nccl *nccl,
                                  struct ncclComm *comm, const lampar_call *call,
                                  uint64_t input_stride, uint64_t output_stride,
                                  struct CUstream_st *stream) {
  const uint64_t bytes = call->rows * call->row_length * lampar_dtype_bytes(call->dtype);
  const lampar_device_pointer input = (lampar_device_pointer)(uintptr_t)call->input;
  const lampar_device_pointer output = (lampar_device_pointer)(uintptr_t)call->output;
  lampar_device_pointer staging = 0;
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc_async(&staging, bytes, stream),
                                 "cuMemAllocAsync for rows with a stride"));
  void *buffer = (void *)(uintptr_t)staging;
  lampar_status status =
      copy_rows(driver, call, staging, call->row_length, input, input_stride, stream);
  if (status == LAMPAR_OK) status = reduce(nccl, comm, call, buffer, buffer, stream);
  if (status == LAMPAR_OK)
    status = copy_rows(driver, call, output, output_stride, staging, call->row_length, stream);
  const lampar_status freed =
      lampar_driver_check(driver, driver->memory_free_async(staging, stream), "cuMemFreeAsync");
  return status != LAMPAR_OK ? status : freed;
}

lampar_status lampar_fallback(const lampar_driver *driver, const lampar_nccl *nccl,
                              struct ncclComm *comm, const lampar_call *call,
                              struct CUstream_st *stream) {
  const uint64_t input_stride = call->input_stride != 0 ? call->input_stride : call->row_length;
  const uint64_t output_stride = call->output_stride != 0 ? call->output_stride : call->row_length;
  const bool apart =
      call->rows > 1 && (input_stride != call->row_length || output_stride != call->row_length);
  if (apart) return reduce_apart(driver, nccl, comm, call, input_stride, output_stride, stream);
  return reduce(nccl, comm, call, call->input, call->output, stream);
}
