#include "base/shared_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

#define EMULATOR_SONAME "liblampar-emu.so"

static void set_path(lampar_library *library, const char *symbol, const char *fallback) {
  Dl_info info;
  void *address = dlsym(library->handle, symbol);
  const bool known = address != NULL && dladdr(address, &info) != 0 && info.dli_fname != NULL;
  snprintf(library->path, sizeof library->path, "%.*s", (int)sizeof library->path - 1,
           known ? info.dli_fname : fallback);
}

lampar_status lampar_device_is_emulated(bool *emulated) {
  const char *device = lampar_variable_text(LAMPAR_VARIABLE_DEVICE);
  *emulated = device != NULL;
  if (device != NULL && strcmp(device, "emu") != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "LAMPAR_DEVICE=%s: the only value is emu; unset it to use the GPUs", device);
  return LAMPAR_OK;
}

lampar_status lampar_library_open(lampar_library *library, const char *file, const char *soname,
                                  const char *symbol, lampar_status failure) {
  if (file != NULL) {
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL)
      return lampar_fail(failure, "%s cannot be loaded: %s", file, dlerror());
  } else if (dlsym(RTLD_DEFAULT, symbol) != NULL) {
    library->handle = dlopen(NULL, RTLD_NOW);
  } else {
    library->handle = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    if (library->handle == NULL) library->handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL)
      return lampar_fail(failure, "%s cannot be loaded: %s", soname, dlerror());
  }
  set_path(library, symbol, file != NULL ? file : soname);
  return LAMPAR_OK;
}

lampar_status lampar_library_open_emulator(lampar_library *library, lampar_status failure) {
  const char *file = lampar_variable_text(LAMPAR_VARIABLE_EMU_LIBRARY);
  if (file != NULL) return lampar_library_open(library, file, file, "cuInit", failure);

  static const char anchor = 0; /* an address in this program or library */
  Dl_info self;
  if (dladdr(&anchor, &self) != 0 && self.dli_fname != NULL) {
    const char *slash = strrchr(self.dli_fname, '/');
    const int length = slash != NULL ? (int)(slash - self.dli_fname) : 1;
    const char *folder = slash != NULL ? self.dli_fname : ".";
    static const char *const beside[] = {"", "../lib/"};
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; ++i) {
      char path[4096];
      snprintf(path, sizeof path, "%.*s/%s" EMULATOR_SONAME, length, folder, beside[i]);
      library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (library->handle == NULL) continue;
      set_path(library, "cuInit", path);
      return LAMPAR_OK;
    }
  }
  library->handle = dlopen(EMULATOR_SONAME, RTLD_NOW | RTLD_LOCAL);
  if (library->handle == NULL)
    return lampar_fail(failure, "LAMPAR_DEVICE=emu: %s; set LAMPAR_EMU_LIBRARY to its file",
                       dlerror());
  set_path(library, "cuInit", EMULATOR_SONAME);
  return LAMPAR_OK;
}

lampar_status lampar_library_symbol(const lampar_library *library, const char *name, void **address,
                                    lampar_status failure) {
  *address = dlsym(library->handle, name);
  if (*address == NULL)
    return lampar_fail(failure, "%s has no %s: it is too old for lampar, update it", library->path,
                       name);
  return LAMPAR_OK;
}
