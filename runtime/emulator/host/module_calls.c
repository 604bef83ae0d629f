/* Modules, occupancy and launches. */
#include <string.h>

#include "emulator/exec/kernel_calls.h"
#include "emulator/exec/module.h"
#include "emulator/exec/running.h"
#include "emulator/host/device.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"

int cuLibraryLoadData(struct CUlib_st **module, const void *code, int *jit_options,
                      void **jit_values, unsigned jit_count, int *library_options,
                      void **library_values, unsigned library_count) {
  (void)jit_options, (void)jit_values, (void)jit_count; /* nothing here can be tuned */
  (void)library_options, (void)library_values, (void)library_count;
  machine_enter();
  kernel_calls_install(&emu_interface);
  return machine_leave(module_load(code, &emu_interface, module));
}

int cuLibraryUnload(struct CUlib_st *module) {
  machine_enter();
  stream_synchronize_device(device_current());
  module_unload(module);
  return machine_leave(CUDA_SUCCESS);
}

int cuLibraryGetKernel(struct CUkern_st **kernel, struct CUlib_st *module, const char *name) {
  machine_enter();
  return machine_leave(module_find(module, name, (struct CUfunc_st **)kernel));
}

int cuKernelGetFunction(struct CUfunc_st **function, struct CUkern_st *kernel) {
  *function = (struct CUfunc_st *)kernel;
  return CUDA_SUCCESS;
}

int cuFuncLoad(struct CUfunc_st *function) {
  return function != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function,
                                                int threads, size_t shared_bytes) {
  (void)shared_bytes;
  if (function == NULL || threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  *blocks = LANES_PER_MULTIPROCESSOR / threads > 0 ? LANES_PER_MULTIPROCESSOR / threads : 1;
  return CUDA_SUCCESS;
}

/* Blocks of a cluster of one launch; 0: an attribute that is not known. */
static unsigned cluster_of(const lampar_launch_config *config, bool *is_programmatic) {
  unsigned cluster = 1;
  *is_programmatic = false;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const lampar_launch_attribute *attribute = &config->attributes[i];
    switch (attribute->id) {
    case LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION:
      *is_programmatic = attribute->value.programmatic_stream_serialization_allowed != 0;
      break;
    case LAMPAR_LAUNCH_CLUSTER_DIMENSION:
      cluster = attribute->value.cluster_dimension.x;
      if (cluster > CLUSTER_BLOCKS_MAX || attribute->value.cluster_dimension.y != 1 ||
          attribute->value.cluster_dimension.z != 1)
        return 0;
      break;
    default: return 0;
    }
  }
  return cluster;
}

int cuOccupancyMaxActiveClusters(int *clusters, struct CUfunc_st *function,
                                 const lampar_launch_config *config) {
  bool is_programmatic;
  const unsigned cluster = cluster_of(config, &is_programmatic);
  int blocks;
  if (cluster == 0) return CUDA_ERROR_INVALID_VALUE;
  const int result =
      cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)config->block_x, 0);
  if (result != CUDA_SUCCESS) return result;
  *clusters = blocks * MULTIPROCESSORS / (int)cluster;
  if (*clusters == 0) *clusters = 1; /* grid_start makes room for one */
  return CUDA_SUCCESS;
}

int cuLaunchKernelEx(const lampar_launch_config *config, struct CUfunc_st *function,
                     void **parameters, void **extra) {
  if (function == NULL || extra != NULL || parameters == NULL) return CUDA_ERROR_INVALID_VALUE;
  if (config->grid_x == 0 || config->grid_y != 1 || config->grid_z != 1 || config->block_x == 0 ||
      config->block_x > 1024 || config->block_y != 1 || config->block_z != 1 ||
      config->shared_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE; /* one dimension, no dynamic shared memory: what kernels use */
  emu_task launch = {
      .kind = WORK_KERNEL,
      .kernel = {.function = function, .blocks = config->grid_x, .threads = config->block_x}};
  memcpy(launch.kernel.parameters, parameters[0], function_parameter_bytes(function));
  launch.kernel.cluster = cluster_of(config, &launch.is_programmatic);
  if (launch.kernel.cluster == 0 || config->grid_x % launch.kernel.cluster != 0)
    return CUDA_ERROR_INVALID_VALUE;
  machine_enter();
  return machine_leave(stream_enqueue(stream_or_default(config->stream), &launch, NULL));
}
