#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster.h"
#include "machine.h"
#include "require.h"
#include "scheduler.h"
#include "stream.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

/* A kernel of a library is its function: nothing is loaded later. */
struct CUfunc_st {
  struct CUfunc_st *next;
  void *address;
  unsigned parameter_bytes, shared_bytes;
  char name[128];
};

struct CUlib_st {
  void *handle;
  int file; /* open as long as the library: the loader takes two files of one path for one */
  struct CUfunc_st *functions;
};

/* By value, as the kernel takes it: a struct as long as any parameter is passed the same way. */
typedef struct parameter {
  char bytes[KERNEL_PARAMETER_BYTES_MAX];
} parameter;

const char *function_name(const struct CUfunc_st *function) {
  return function->name;
}

unsigned function_shared_bytes(const struct CUfunc_st *function) {
  return function->shared_bytes;
}

void function_call(const struct CUfunc_st *function, const char *parameters) {
  parameter given;
  memcpy(&given, parameters, sizeof given);
  void (*entry)(parameter);
  *(void **)&entry = function->address;
  entry(given);
}

/* The driver is given no length: the file ends with its section headers. 0: not a shared object. */
static size_t size_of(const void *code) {
  Elf64_Ehdr header;
  memcpy(&header, code, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return 0;
  return header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
}

static int load(const void *code, struct CUlib_st **library) {
  const size_t size = size_of(code);
  Elf64_Half machine;
  if (size == 0) return CUDA_ERROR_INVALID_IMAGE;
  memcpy(&machine, (const char *)code + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
  if (machine != MACHINE) return CUDA_ERROR_NO_BINARY_FOR_GPU;

  char path[64];
  const int file = memfd_create("lampar-emu-kernel", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  void *handle = NULL;
  if (write(file, code, size) == (ssize_t)size) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  kernel_interface **slot = handle ? dlsym(handle, "lampar_emu") : NULL;
  const unsigned *bytes = handle ? dlsym(handle, "lampar_emu_bytes") : NULL;
  if (!slot || !bytes || *bytes != sizeof emu_interface) {
    if (handle) dlclose(handle);
    close(file);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  kernel_calls_install(&emu_interface);
  cluster_calls_install(&emu_interface);
  *slot = &emu_interface;
  *library = require(calloc(1, sizeof **library));
  (*library)->handle = handle;
  (*library)->file = file;
  return CUDA_SUCCESS;
}

int cuLibraryLoadData(struct CUlib_st **library, const void *code, int *jit_options,
                      void **jit_values, unsigned jit_count, int *library_options,
                      void **library_values, unsigned library_count) {
  (void)jit_options, (void)jit_values, (void)jit_count; /* nothing here can be tuned */
  (void)library_options, (void)library_values, (void)library_count;
  machine_enter();
  return machine_leave(load(code, library));
}

int cuLibraryUnload(struct CUlib_st *library) {
  machine_enter();
  stream_synchronize_device(machine_current_device());
  while (library->functions) {
    struct CUfunc_st *function = library->functions;
    library->functions = function->next;
    free(function);
  }
  dlclose(library->handle);
  close(library->file);
  free(library);
  return machine_leave(CUDA_SUCCESS);
}

int cuLibraryGetKernel(struct CUkern_st **kernel, struct CUlib_st *library, const char *name) {
  machine_enter();
  void *address = dlsym(library->handle, name);
  const unsigned *bytes = dlsym(library->handle, "lampar_emu_parameters");
  const unsigned *shared_bytes = dlsym(library->handle, "lampar_emu_shared");
  if (!address || !bytes || *bytes > KERNEL_PARAMETER_BYTES_MAX)
    return machine_leave(CUDA_ERROR_NOT_FOUND);
  struct CUfunc_st *function = require(calloc(1, sizeof *function));
  *function = (struct CUfunc_st){.next = library->functions,
                                 .address = address,
                                 .parameter_bytes = *bytes,
                                 .shared_bytes = shared_bytes ? *shared_bytes : 0};
  snprintf(function->name, sizeof function->name, "%s", name);
  library->functions = function;
  *kernel = (struct CUkern_st *)function;
  return machine_leave(CUDA_SUCCESS);
}

int cuKernelGetFunction(struct CUfunc_st **function, struct CUkern_st *kernel) {
  *function = (struct CUfunc_st *)kernel;
  return CUDA_SUCCESS;
}

int cuFuncLoad(struct CUfunc_st *function) {
  return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function,
                                                int threads, size_t shared_bytes) {
  (void)shared_bytes;
  if (!function || threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
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
  if (!function || extra || !parameters) return CUDA_ERROR_INVALID_VALUE;
  if (config->grid_x == 0 || config->grid_y != 1 || config->grid_z != 1 || config->block_x == 0 ||
      config->block_x > 1024 || config->block_y != 1 || config->block_z != 1 ||
      config->shared_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE; /* one dimension, no dynamic shared memory: what kernels use */
  task launch = {
      .kind = WORK_KERNEL,
      .kernel = {.function = function, .blocks = config->grid_x, .threads = config->block_x}};
  memcpy(launch.kernel.parameters, parameters[0], function->parameter_bytes);
  launch.kernel.cluster = cluster_of(config, &launch.is_programmatic);
  if (launch.kernel.cluster == 0 || config->grid_x % launch.kernel.cluster != 0)
    return CUDA_ERROR_INVALID_VALUE;
  machine_enter();
  return machine_leave(stream_enqueue(stream_or_default(config->stream), &launch, NULL));
}
