/* Our own declarations of CUDA's and NCCL's ABI against their headers, where those are installed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Files, since our own table of NCCL is called nccl.h too. */
#ifdef CUDA_HEADER
#include CUDA_HEADER
#endif
#ifdef NCCL_HEADER
#include NCCL_HEADER
#endif

#include "cuda/driver.h"
#include "cuda/nccl.h"

#define SAME_FIELD(ours, field, theirs, their_field)                                               \
  assert_int_equal(offsetof(ours, field), offsetof(theirs, their_field));                          \
  assert_int_equal(sizeof(((ours *)0)->field), sizeof(((theirs *)0)->their_field))

static void driver_constants(void **state) {
  (void)state;
#ifdef CUDA_HEADER
  assert_int_equal(LAMPAR_CUDA_SUCCESS, CUDA_SUCCESS);
  assert_int_equal(LAMPAR_CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY);
  assert_int_equal(LAMPAR_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
                   CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  assert_int_equal(LAMPAR_CUDA_ERROR_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  assert_int_equal(LAMPAR_CUDA_ERROR_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  assert_int_equal(LAMPAR_DEVICE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  assert_int_equal(LAMPAR_DEVICE_COMPUTE_CAPABILITY_MAJOR,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  assert_int_equal(LAMPAR_DEVICE_COMPUTE_CAPABILITY_MINOR,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  assert_int_equal(LAMPAR_P2P_ACCESS_SUPPORTED, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
  assert_int_equal(LAMPAR_P2P_NATIVE_ATOMIC_SUPPORTED,
                   CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
  assert_int_equal(LAMPAR_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
  assert_int_equal(LAMPAR_EVENT_DEFAULT, CU_EVENT_DEFAULT);
  assert_int_equal(LAMPAR_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
  assert_int_equal(LAMPAR_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
  assert_int_equal(LAMPAR_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);
  assert_int_equal(LAMPAR_IPC_LAZY_ENABLE_PEER_ACCESS, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  assert_int_equal(LAMPAR_CAPTURE_STATUS_NONE, CU_STREAM_CAPTURE_STATUS_NONE);
  assert_int_equal(LAMPAR_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  assert_int_equal(LAMPAR_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST);
  assert_int_equal(LAMPAR_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
  assert_int_equal(LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
                   CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
#else
  skip();
#endif
}

static void driver_structs(void **state) {
  (void)state;
#ifdef CUDA_HEADER
  assert_int_equal(sizeof(lampar_device_pointer), sizeof(CUdeviceptr));
  assert_int_equal(sizeof(lampar_uuid), sizeof(CUuuid));
  assert_int_equal(sizeof(lampar_ipc_handle), sizeof(CUipcMemHandle));
  assert_int_equal(sizeof(lampar_launch_attribute), sizeof(CUlaunchAttribute));
  SAME_FIELD(lampar_launch_attribute, id, CUlaunchAttribute, id);
  SAME_FIELD(lampar_launch_attribute, value, CUlaunchAttribute, value);
  assert_int_equal(sizeof(lampar_launch_config), sizeof(CUlaunchConfig));
  SAME_FIELD(lampar_launch_config, grid_x, CUlaunchConfig, gridDimX);
  SAME_FIELD(lampar_launch_config, block_x, CUlaunchConfig, blockDimX);
  SAME_FIELD(lampar_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
  SAME_FIELD(lampar_launch_config, stream, CUlaunchConfig, hStream);
  SAME_FIELD(lampar_launch_config, attributes, CUlaunchConfig, attrs);
  SAME_FIELD(lampar_launch_config, attribute_count, CUlaunchConfig, numAttrs);
  assert_int_equal(sizeof(lampar_copy_2d), sizeof(CUDA_MEMCPY2D));
  SAME_FIELD(lampar_copy_2d, source_type, CUDA_MEMCPY2D, srcMemoryType);
  SAME_FIELD(lampar_copy_2d, source_device, CUDA_MEMCPY2D, srcDevice);
  SAME_FIELD(lampar_copy_2d, source_pitch, CUDA_MEMCPY2D, srcPitch);
  SAME_FIELD(lampar_copy_2d, destination_type, CUDA_MEMCPY2D, dstMemoryType);
  SAME_FIELD(lampar_copy_2d, destination_device, CUDA_MEMCPY2D, dstDevice);
  SAME_FIELD(lampar_copy_2d, destination_pitch, CUDA_MEMCPY2D, dstPitch);
  SAME_FIELD(lampar_copy_2d, width, CUDA_MEMCPY2D, WidthInBytes);
  SAME_FIELD(lampar_copy_2d, height, CUDA_MEMCPY2D, Height);
#else
  skip();
#endif
}

static void nccl_numbers(void **state) {
  (void)state;
#ifdef NCCL_HEADER
  assert_int_equal(sizeof(lampar_nccl_id), sizeof(ncclUniqueId));
  assert_int_equal(LAMPAR_NCCL_SUCCESS, ncclSuccess);
  assert_int_equal(LAMPAR_NCCL_IN_PROGRESS, ncclInProgress);
  assert_int_equal(LAMPAR_NCCL_UINT8, ncclUint8);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_BF16), ncclBfloat16);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_F16), ncclFloat16);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_F32), ncclFloat32);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_F64), ncclFloat64);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_I8), ncclInt8);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_U8), ncclUint8);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_I32), ncclInt32);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_U32), ncclUint32);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_I64), ncclInt64);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_U64), ncclUint64);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_F8E4M3), ncclFloat8e4m3);
  assert_int_equal(lampar_nccl_dtype(LAMPAR_F8E5M2), ncclFloat8e5m2);
  assert_int_equal(lampar_nccl_op(LAMPAR_SUM), ncclSum);
  assert_int_equal(lampar_nccl_op(LAMPAR_PROD), ncclProd);
  assert_int_equal(lampar_nccl_op(LAMPAR_MAX), ncclMax);
  assert_int_equal(lampar_nccl_op(LAMPAR_MIN), ncclMin);
  assert_int_equal(lampar_nccl_op(LAMPAR_AVG), ncclAvg);
#else
  skip();
#endif
}

/* A library is loaded where there is one; on a machine without, the message names it. */
static void nccl_has_every_symbol(void **state) {
  (void)state;
  lampar_nccl nccl;
  if (lampar_nccl_open(&nccl) == LAMPAR_OK) {
    int version = 0;
    assert_int_equal(nccl.version(&version), 0);
    assert_true(version >= 20000);
  } else {
    assert_non_null(lampar_last_error());
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(driver_constants),
      cmocka_unit_test(driver_structs),
      cmocka_unit_test(nccl_numbers),
      cmocka_unit_test(nccl_has_every_symbol),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
