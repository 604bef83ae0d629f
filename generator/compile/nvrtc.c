#include "compile/nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/nvrtc_library.h"
#include "pack/arch.h"
#include "pack/variant.h"

typedef struct nvrtc_program *program;

struct lampar_nvrtc {
  lampar_nvrtc_library library;
  int major, minor;
  char version[24];
  int *archs; /* 90 for sm_90; 0 ends the list */
  int arch_count;
  int (*version_of)(int *major, int *minor);
  int (*count_archs)(int *count);
  int (*list_archs)(int *archs);
  int (*create)(program *made, const char *source, const char *name, int header_count,
                const char *const *headers, const char *const *include_names);
  int (*compile)(program made, int option_count, const char *const *options);
  int (*destroy)(program *made);
  int (*cubin_size)(program made, size_t *size);
  int (*cubin)(program made, char *bytes);
  int (*log_size)(program made, size_t *size);
  int (*log)(program made, char *text);
  const char *(*error_string)(int result);
};

/* The oldest version that lampar supports; it has all options below except --no-cache. */
enum { OLDEST_MAJOR = 12, OLDEST_MINOR = 4 };

static bool is_at_least(const lampar_nvrtc *nvrtc, int major, int minor) {
  return nvrtc->major > major || (nvrtc->major == major && nvrtc->minor >= minor);
}

static lampar_status bind(lampar_nvrtc *nvrtc) {
  const struct {
    const char *name;
    void *slot;
  } entries[] = {
      {"nvrtcVersion", &nvrtc->version_of},
      {"nvrtcGetNumSupportedArchs", &nvrtc->count_archs},
      {"nvrtcGetSupportedArchs", &nvrtc->list_archs},
      {"nvrtcCreateProgram", &nvrtc->create},
      {"nvrtcCompileProgram", &nvrtc->compile},
      {"nvrtcDestroyProgram", &nvrtc->destroy},
      {"nvrtcGetCUBINSize", &nvrtc->cubin_size},
      {"nvrtcGetCUBIN", &nvrtc->cubin},
      {"nvrtcGetProgramLogSize", &nvrtc->log_size},
      {"nvrtcGetProgramLog", &nvrtc->log},
      {"nvrtcGetErrorString", &nvrtc->error_string},
  };
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
    void *const entry = dlsym(nvrtc->library.handle, entries[i].name);
    if (entry == NULL)
      return lampar_fail(LAMPAR_ERROR_SYSTEM,
                         "%s has no %s, so it is not NVRTC of CUDA %d.%d or later; name one in "
                         "LAMPAR_NVRTC_LIBRARY",
                         nvrtc->library.path, entries[i].name, OLDEST_MAJOR, OLDEST_MINOR);
    memcpy(entries[i].slot, &entry, sizeof entry);
  }
  return LAMPAR_OK;
}

static lampar_status query_versions(lampar_nvrtc *nvrtc) {
  const char *const path = nvrtc->library.path;
  if (nvrtc->version_of(&nvrtc->major, &nvrtc->minor) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "%s does not report its version; name another in "
                       "LAMPAR_NVRTC_LIBRARY",
                       path);
  snprintf(nvrtc->version, sizeof nvrtc->version, "%d.%d", nvrtc->major, nvrtc->minor);
  if (!is_at_least(nvrtc, OLDEST_MAJOR, OLDEST_MINOR))
    return lampar_fail(
        LAMPAR_ERROR_SYSTEM,
        "NVRTC %s (%s) is too old: %d.%d or later is needed; install one, or name it in "
        "LAMPAR_NVRTC_LIBRARY",
        nvrtc->version, path, OLDEST_MAJOR, OLDEST_MINOR);
  if (nvrtc->count_archs(&nvrtc->arch_count) != 0 || nvrtc->arch_count <= 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "NVRTC %s (%s) does not report the architectures that it supports",
                       nvrtc->version, path);
  nvrtc->archs = calloc((size_t)nvrtc->arch_count + 1, sizeof *nvrtc->archs);
  if (nvrtc->archs == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for NVRTC's archs");
  if (nvrtc->list_archs(nvrtc->archs) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "NVRTC %s (%s) does not report the architectures that it supports",
                       nvrtc->version, path);
  return LAMPAR_OK;
}

lampar_status lampar_nvrtc_open(lampar_nvrtc **made) {
  *made = NULL;
  lampar_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
  if (nvrtc == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for NVRTC's entry points");
  lampar_status status = lampar_nvrtc_library_open(&nvrtc->library);
  if (status == LAMPAR_OK) status = bind(nvrtc);
  if (status == LAMPAR_OK) status = query_versions(nvrtc);
  if (status != LAMPAR_OK) {
    lampar_nvrtc_close(nvrtc);
    return status;
  }
  *made = nvrtc;
  return LAMPAR_OK;
}

void lampar_nvrtc_close(lampar_nvrtc *nvrtc) {
  if (nvrtc == NULL) return;
  lampar_nvrtc_library_close(&nvrtc->library);
  free(nvrtc->archs);
  free(nvrtc);
}

const char *lampar_nvrtc_path(const lampar_nvrtc *nvrtc) {
  return nvrtc->library.path;
}

const char *lampar_nvrtc_version(const lampar_nvrtc *nvrtc) {
  return nvrtc->version;
}

const char *lampar_nvrtc_build(const lampar_nvrtc *nvrtc) {
  return nvrtc->library.build;
}

const int *lampar_nvrtc_archs(const lampar_nvrtc *nvrtc) {
  return nvrtc->archs;
}

lampar_status lampar_nvrtc_require(const lampar_nvrtc *nvrtc, uint32_t arch) {
  char supported[512] = "";
  size_t used = 0;
  for (int i = 0; i < nvrtc->arch_count; ++i) {
    if ((uint32_t)nvrtc->archs[i] == arch) return LAMPAR_OK;
    if (used < sizeof supported)
      used +=
          (size_t)snprintf(supported + used, sizeof supported - used, " sm_%d", nvrtc->archs[i]);
  }
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "NVRTC %s (%s) does not compile for %s, only for%s; name a newer one in "
                     "LAMPAR_NVRTC_LIBRARY, or leave the arch out",
                     nvrtc->version, nvrtc->library.path, lampar_arch_name(arch), supported);
}

size_t lampar_nvrtc_arguments(const lampar_nvrtc *nvrtc, const lampar_nvrtc_options *options,
                              const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX]) {
  size_t count = 0;
  arguments[count++] = "--std=c++17";
  arguments[count++] = "--minimal";
  /* Results must not depend on which multiplications and additions a compiler contracts. */
  arguments[count++] = "--fmad=false";
  /* By default NVRTC raises the stack limit of the whole process. */
  arguments[count++] = "--modify-stack-limit=false";
  /* NVRTC has a cache of its own in the user's home, which would hide what a build needs. */
  if (is_at_least(nvrtc, 12, 9)) arguments[count++] = "--no-cache";
  if (options->line_info) arguments[count++] = "-lineinfo";
  return count;
}

static lampar_status copy_log(const lampar_nvrtc *nvrtc, program made, char **log) {
  size_t size = 0;
  if (nvrtc->log_size(made, &size) != 0) size = 0;
  *log = calloc(size + 1, 1);
  if (*log == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the compiler's log");
  if (size > 0 && nvrtc->log(made, *log) != 0) (*log)[0] = '\0';
  return LAMPAR_OK;
}

static lampar_status copy_cubin(const lampar_nvrtc *nvrtc, program made, const char *name,
                                char **cubin, size_t *size) {
  if (nvrtc->cubin_size(made, size) != 0 || *size == 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: NVRTC %s produced no cubin", name, nvrtc->version);
  *cubin = malloc(*size);
  if (*cubin == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for its cubin", name);
  if (nvrtc->cubin(made, *cubin) == 0) return LAMPAR_OK;
  free(*cubin);
  *cubin = NULL;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: NVRTC %s does not return its cubin", name,
                     nvrtc->version);
}

lampar_status lampar_nvrtc_compile(const lampar_nvrtc *nvrtc, const char *name, const char *source,
                                   uint32_t arch, const lampar_nvrtc_options *options, char **cubin,
                                   size_t *size, char **log) {
  *cubin = NULL;
  *size = 0;
  *log = NULL;
  LAMPAR_TRY(lampar_nvrtc_require(nvrtc, arch));

  char arch_argument[LAMPAR_NVRTC_ARCH_ARGUMENT_BYTES];
  const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX + 1];
  snprintf(arch_argument, sizeof arch_argument, "--gpu-architecture=sm_%u", arch);
  size_t count = lampar_nvrtc_arguments(nvrtc, options, arguments);
  arguments[count++] = arch_argument;

  program made = NULL;
  int result = nvrtc->create(&made, source, name, 0, NULL, NULL);
  if (result != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: NVRTC %s: %s", name, nvrtc->version,
                       nvrtc->error_string(result));
  result = nvrtc->compile(made, (int)count, arguments);
  lampar_status status = copy_log(nvrtc, made, log);
  if (status == LAMPAR_OK && result != 0)
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: does not compile for %s with NVRTC %s: %s",
                         name, lampar_arch_name(arch), nvrtc->version, nvrtc->error_string(result));
  if (status == LAMPAR_OK) status = copy_cubin(nvrtc, made, name, cubin, size);
  nvrtc->destroy(&made);
  return status;
}
