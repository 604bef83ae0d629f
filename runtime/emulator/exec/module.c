#include "emulator/exec/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/exec/errors.h"
#include "emulator/exec/require.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

/* A kernel of a module is its function: nothing is loaded later. */
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
typedef struct emu_parameter {
  _Alignas(8) char bytes[KERNEL_PARAMETER_BYTES_MAX];
} emu_parameter;

const char *function_name(const struct CUfunc_st *function) {
  return function->name;
}

unsigned function_parameter_bytes(const struct CUfunc_st *function) {
  return function->parameter_bytes;
}

unsigned function_shared_bytes(const struct CUfunc_st *function) {
  return function->shared_bytes;
}

void function_call(const struct CUfunc_st *function, const char *parameters) {
  emu_parameter given;
  memcpy(&given, parameters, sizeof given);
  void (*entry)(emu_parameter);
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

int module_load(const void *code, kernel_interface *interface, struct CUlib_st **module) {
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
  kernel_interface **slot = handle != NULL ? dlsym(handle, "lampar_emu") : NULL;
  const unsigned *bytes = handle != NULL ? dlsym(handle, "lampar_emu_bytes") : NULL;
  if (slot == NULL || bytes == NULL || *bytes != sizeof *interface) {
    if (handle != NULL) dlclose(handle);
    close(file);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  *slot = interface;
  *module = require(calloc(1, sizeof **module));
  (*module)->handle = handle;
  (*module)->file = file;
  return CUDA_SUCCESS;
}

void module_unload(struct CUlib_st *module) {
  while (module->functions != NULL) {
    struct CUfunc_st *function = module->functions;
    module->functions = function->next;
    free(function);
  }
  dlclose(module->handle);
  close(module->file);
  free(module);
}

int module_find(struct CUlib_st *module, const char *name, struct CUfunc_st **found) {
  void *address = dlsym(module->handle, name);
  const unsigned *bytes = dlsym(module->handle, "lampar_emu_parameters");
  const unsigned *shared_bytes = dlsym(module->handle, "lampar_emu_shared");
  if (address == NULL || bytes == NULL || *bytes > KERNEL_PARAMETER_BYTES_MAX)
    return CUDA_ERROR_NOT_FOUND;
  struct CUfunc_st *function = require(calloc(1, sizeof *function));
  *function = (struct CUfunc_st){.next = module->functions,
                                 .address = address,
                                 .parameter_bytes = *bytes,
                                 .shared_bytes = shared_bytes != NULL ? *shared_bytes : 0};
  snprintf(function->name, sizeof function->name, "%s", name);
  module->functions = function;
  *found = function;
  return CUDA_SUCCESS;
}
