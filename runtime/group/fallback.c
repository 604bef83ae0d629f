#include "group/fallback.h"

#include <stdbool.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "pack/variant.h"

/* Copies rows from one stride to another. */
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
      .width = call->hidden * element,
      .height = call->rows,
  };
  return lampar_driver_check(driver, driver->copy_2d_async(&copy, stream), "cuMemcpy2DAsync");
}

static lampar_status reduce(const lampar_nccl *nccl, struct ncclComm *comm, const lampar_call *call,
                            const void *input, void *output, struct CUstream_st *stream) {
  const int result =
      nccl->all_reduce(input, output, call->rows * call->hidden, lampar_nccl_dtype(call->dtype),
                       lampar_nccl_op(call->op), comm, stream);
  if (result == LAMPAR_NCCL_IN_PROGRESS) return LAMPAR_OK; /* a non-blocking communicator */
  return lampar_nccl_check(nccl, result, "ncclAllReduce");
}

static uint64_t stride_of(uint64_t given, const lampar_call *call) {
  return given != 0 && call->rows > 1 ? given : call->hidden;
}

lampar_status lampar_fallback_sum(const lampar_driver *driver, const lampar_nccl *nccl,
                                  struct ncclComm *comm, const lampar_call *call,
                                  lampar_device_pointer *sum, struct CUstream_st *stream) {
  const uint64_t bytes = call->rows * call->hidden * lampar_dtype_bytes(call->dtype);
  const uint64_t stride = stride_of(call->input_stride, call);
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc_async(sum, bytes, stream),
                                 "cuMemAllocAsync for the sum of NCCL"));
  void *buffer = (void *)(uintptr_t)*sum;
  const void *input = call->input;
  lampar_status status = LAMPAR_OK;
  if (stride != call->hidden) {
    status = copy_rows(driver, call, *sum, call->hidden,
                       (lampar_device_pointer)(uintptr_t)call->input, stride, stream);
    input = buffer;
  }
  if (status == LAMPAR_OK) status = reduce(nccl, comm, call, input, buffer, stream);
  if (status != LAMPAR_OK) driver->memory_free_async(*sum, stream);
  return status;
}

lampar_status lampar_fallback_release(const lampar_driver *driver, lampar_device_pointer sum,
                                      struct CUstream_st *stream) {
  return lampar_driver_check(driver, driver->memory_free_async(sum, stream), "cuMemFreeAsync");
}

/* NCCL has no strides. They may also differ between ranks, which must all make the same NCCL call.
 * Rows with gaps therefore go through a contiguous buffer. */
lampar_status lampar_fallback(const lampar_driver *driver, const lampar_nccl *nccl,
                              struct ncclComm *comm, const lampar_call *call,
                              struct CUstream_st *stream) {
  const uint64_t output_stride = stride_of(call->output_stride, call);
  if (stride_of(call->input_stride, call) == call->hidden && output_stride == call->hidden)
    return reduce(nccl, comm, call, call->input, call->output, stream);
  lampar_device_pointer sum;
  LAMPAR_TRY(lampar_fallback_sum(driver, nccl, comm, call, &sum, stream));
  const lampar_status status =
      copy_rows(driver, call, (lampar_device_pointer)(uintptr_t)call->output, output_stride, sum,
                call->hidden, stream);
  const lampar_status released = lampar_fallback_release(driver, sum, stream);
  return status != LAMPAR_OK ? status : released;
}
