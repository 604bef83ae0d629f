/* The CUDA driver's entry points that lampar uses, loaded at run time. Building needs no CUDA
 * header: handles are the driver's own incomplete structs, constants are its ABI (cuda.h, checked
 * by tests/unit/abi_test.c where that header is there). */
#ifndef LAMPAR_DRIVER_H
#define LAMPAR_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/shared_library.h"
#include "lampar/lampar.h"

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
struct CUkern_st;
struct CUlib_st;

typedef unsigned long long lampar_device_pointer; /* CUdeviceptr */
typedef struct {
  char bytes[16];
} lampar_uuid; /* CUuuid */
typedef struct {
  char reserved[64];
} lampar_ipc_handle; /* CUipcMemHandle */

enum { /* CUresult */
       LAMPAR_CUDA_SUCCESS = 0,
       LAMPAR_CUDA_ERROR_NOT_READY = 600,
       LAMPAR_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
       LAMPAR_CUDA_ERROR_CAPTURE_UNSUPPORTED = 900,
       LAMPAR_CUDA_ERROR_CAPTURE_IMPLICIT = 906,
};

enum { /* CUdevice_attribute */
       LAMPAR_DEVICE_MULTIPROCESSOR_COUNT = 16,
       LAMPAR_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
       LAMPAR_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
};

enum { /* CUdevice_P2PAttribute */
       LAMPAR_P2P_ACCESS_SUPPORTED = 2,
       LAMPAR_P2P_NATIVE_ATOMIC_SUPPORTED = 3,
};

enum { /* flags */
       LAMPAR_STREAM_NON_BLOCKING = 1,
       LAMPAR_EVENT_DEFAULT = 0,
       LAMPAR_EVENT_DISABLE_TIMING = 2,
       LAMPAR_MEMHOSTALLOC_PORTABLE = 1,
       LAMPAR_MEMHOSTALLOC_DEVICEMAP = 2,
       LAMPAR_IPC_LAZY_ENABLE_PEER_ACCESS = 1,
       LAMPAR_CAPTURE_STATUS_NONE = 0,
       LAMPAR_CAPTURE_MODE_THREAD_LOCAL = 1,
       LAMPAR_CAPTURE_MODE_RELAXED = 2,
       LAMPAR_MEMORYTYPE_HOST = 1,
       LAMPAR_MEMORYTYPE_DEVICE = 2,
       LAMPAR_LAUNCH_CLUSTER_DIMENSION = 4, /* CUlaunchAttributeID */
       LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

typedef struct { /* CUlaunchAttribute: id, padding, a union of 64 bytes */
  int id;
  char padding[8 - sizeof(int)];
  union {
    char padding[64];
    int programmatic_stream_serialization_allowed;
    struct {
      unsigned x, y, z;
    } cluster_dimension;
  } value;
} lampar_launch_attribute;

typedef struct { /* CUlaunchConfig */
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  struct CUstream_st *stream;
  lampar_launch_attribute *attributes;
  unsigned attribute_count;
} lampar_launch_config;

typedef struct { /* CUDA_MEMCPY2D_v2 */
  size_t source_x, source_y;
  int source_type;
  const void *source_host;
  lampar_device_pointer source_device;
  void *source_array;
  size_t source_pitch;
  size_t destination_x, destination_y;
  int destination_type;
  void *destination_host;
  lampar_device_pointer destination_device;
  void *destination_array;
  size_t destination_pitch;
  size_t width, height;
} lampar_copy_2d;

/* X(field, symbol, parameters); every function returns CUresult as int. */
#define LAMPAR_DRIVER_FUNCTIONS(X)                                                                 \
  X(init, cuInit, (unsigned flags))                                                                \
  X(driver_version, cuDriverGetVersion, (int *version))                                            \
  X(error_name, cuGetErrorName, (int error, const char **name))                                    \
  X(error_string, cuGetErrorString, (int error, const char **text))                                \
  X(device_count, cuDeviceGetCount, (int *count))                                                  \
  X(device_get, cuDeviceGet, (int *device, int ordinal))                                           \
  X(device_name, cuDeviceGetName, (char *name, int bytes, int device))                             \
  X(device_uuid, cuDeviceGetUuid_v2, (lampar_uuid * uuid, int device))                             \
  X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))               \
  X(device_p2p_attribute, cuDeviceGetP2PAttribute, (int *value, int attribute, int from, int to))  \
  X(device_can_access_peer, cuDeviceCanAccessPeer, (int *can, int device, int peer))               \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, (struct CUctx_st * *context, int device))    \
  X(primary_context_release, cuDevicePrimaryCtxRelease_v2, (int device))                           \
  X(context_current, cuCtxGetCurrent, (struct CUctx_st * *context))                                \
  X(context_set_current, cuCtxSetCurrent, (struct CUctx_st * context))                             \
  X(context_device, cuCtxGetDevice, (int *device))                                                 \
  X(context_enable_peer, cuCtxEnablePeerAccess, (struct CUctx_st * peer, unsigned flags))          \
  X(memory_alloc, cuMemAlloc_v2, (lampar_device_pointer * pointer, size_t bytes))                  \
  X(memory_free, cuMemFree_v2, (lampar_device_pointer pointer))                                    \
  X(memory_alloc_async, cuMemAllocAsync,                                                           \
    (lampar_device_pointer * pointer, size_t bytes, struct CUstream_st * stream))                  \
  X(memory_free_async, cuMemFreeAsync,                                                             \
    (lampar_device_pointer pointer, struct CUstream_st * stream))                                  \
  X(host_alloc, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                    \
  X(host_free, cuMemFreeHost, (void *pointer))                                                     \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2,                                             \
    (lampar_device_pointer * device, void *host, unsigned flags))                                  \
  X(memset_d32_async, cuMemsetD32Async,                                                            \
    (lampar_device_pointer pointer, unsigned value, size_t words, struct CUstream_st *stream))     \
  X(copy_to_device_async, cuMemcpyHtoDAsync_v2,                                                    \
    (lampar_device_pointer to, const void *from, size_t bytes, struct CUstream_st *stream))        \
  X(copy_to_host_async, cuMemcpyDtoHAsync_v2,                                                      \
    (void *to, lampar_device_pointer from, size_t bytes, struct CUstream_st *stream))              \
  X(copy_2d_async, cuMemcpy2DAsync_v2, (const lampar_copy_2d *copy, struct CUstream_st *stream))   \
  X(ipc_get_handle, cuIpcGetMemHandle,                                                             \
    (lampar_ipc_handle * handle, lampar_device_pointer pointer))                                   \
  X(ipc_open_handle, cuIpcOpenMemHandle_v2,                                                        \
    (lampar_device_pointer * pointer, lampar_ipc_handle handle, unsigned flags))                   \
  X(ipc_close_handle, cuIpcCloseMemHandle, (lampar_device_pointer pointer))                        \
  X(stream_create, cuStreamCreate, (struct CUstream_st * *stream, unsigned flags))                 \
  X(stream_destroy, cuStreamDestroy_v2, (struct CUstream_st * stream))                             \
  X(stream_synchronize, cuStreamSynchronize, (struct CUstream_st * stream))                        \
  X(stream_query, cuStreamQuery, (struct CUstream_st * stream))                                    \
  X(stream_wait_event, cuStreamWaitEvent,                                                          \
    (struct CUstream_st * stream, struct CUevent_st * event, unsigned flags))                      \
  X(stream_capture_info, cuStreamGetCaptureInfo_v2,                                                \
    (struct CUstream_st * stream, int *status, uint64_t *id, struct CUgraph_st **graph,            \
     const struct CUgraphNode_st *const **dependencies, size_t *dependency_count))                 \
  X(stream_begin_capture, cuStreamBeginCapture_v2, (struct CUstream_st * stream, int mode))        \
  X(stream_end_capture, cuStreamEndCapture,                                                        \
    (struct CUstream_st * stream, struct CUgraph_st * *graph))                                     \
  X(capture_mode_exchange, cuThreadExchangeStreamCaptureMode, (int *mode))                         \
  X(graph_instantiate, cuGraphInstantiateWithFlags,                                                \
    (struct CUgraphExec_st * *executable, struct CUgraph_st * graph, unsigned long long flags))    \
  X(graph_launch, cuGraphLaunch,                                                                   \
    (struct CUgraphExec_st * executable, struct CUstream_st * stream))                             \
  X(graph_executable_destroy, cuGraphExecDestroy, (struct CUgraphExec_st * executable))            \
  X(graph_destroy, cuGraphDestroy, (struct CUgraph_st * graph))                                    \
  X(event_create, cuEventCreate, (struct CUevent_st * *event, unsigned flags))                     \
  X(event_destroy, cuEventDestroy_v2, (struct CUevent_st * event))                                 \
  X(event_record, cuEventRecord, (struct CUevent_st * event, struct CUstream_st * stream))         \
  X(event_elapsed, cuEventElapsedTime,                                                             \
    (float *milliseconds, struct CUevent_st *start, struct CUevent_st *end))                       \
  X(library_load, cuLibraryLoadData,                                                               \
    (struct CUlib_st * *library, const void *code, int *jit_options, void **jit_values,            \
     unsigned jit_count, int *library_options, void **library_values, unsigned library_count))     \
  X(library_unload, cuLibraryUnload, (struct CUlib_st * library))                                  \
  X(library_kernel, cuLibraryGetKernel,                                                            \
    (struct CUkern_st * *kernel, struct CUlib_st * library, const char *name))                     \
  X(kernel_function, cuKernelGetFunction,                                                          \
    (struct CUfunc_st * *function, struct CUkern_st * kernel))                                     \
  X(function_load, cuFuncLoad, (struct CUfunc_st * function))                                      \
  X(occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                 \
    (int *blocks, struct CUfunc_st *function, int threads, size_t shared_bytes))                   \
  X(occupancy_clusters, cuOccupancyMaxActiveClusters,                                              \
    (int *clusters, struct CUfunc_st *function, const lampar_launch_config *config))               \
  X(launch, cuLaunchKernelEx,                                                                      \
    (const lampar_launch_config *config, struct CUfunc_st *function, void **parameters,            \
     void **extra))

typedef struct lampar_driver {
  lampar_library library;
#define LAMPAR_DRIVER_FIELD(field, symbol, parameters) int(*field) parameters;
  LAMPAR_DRIVER_FUNCTIONS(LAMPAR_DRIVER_FIELD)
#undef LAMPAR_DRIVER_FIELD
} lampar_driver;

/* Loads and initialises the driver: the emulated one with LAMPAR_DEVICE=emu, else the process's
 * own, else libcuda.so.1. Errors: DRIVER, naming the library, or the symbol that it lacks. */
lampar_status lampar_driver_open(lampar_driver *driver);

/* OK for CUDA_SUCCESS; else DRIVER with "what: NAME, text". */
lampar_status lampar_driver_check(const lampar_driver *driver, int result, const char *what);

/* The device's compute capability x 10: 90. Errors: DRIVER. */
lampar_status lampar_driver_capability(const lampar_driver *driver, int device,
                                       uint32_t *capability);

#endif
