#include "jit/jit_target.h"

#include <stdio.h>

#include "base/error.h"
#include "cuda/driver.h"
#include "pack/arch.h"
#include "spec/spec_archs.h"

static lampar_status arch_missing(const lampar_spec *spec, const char *wanted) {
  char known[LAMPAR_SPEC_ARCH_NAMES_BYTES];
  lampar_spec_arch_names(spec, known);
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "spec %s: nothing in it runs on %s, its archs are%s; add one to its arch field", spec->name,
      wanted, known);
}

static lampar_status keep_arch(lampar_spec *spec, uint32_t arch) {
  if (!lampar_archs_contain(spec->archs, spec->arch_count, arch))
    return arch_missing(spec, lampar_arch_name(arch));
  lampar_spec_keep_archs(spec, &arch, 1);
  return LAMPAR_OK;
}

static lampar_status read_capability(uint32_t *capability) {
  lampar_driver driver = {0};
  struct CUctx_st *context = NULL;
  int device;
  LAMPAR_TRY(lampar_driver_open(&driver));
  LAMPAR_TRY(lampar_driver_check(&driver, driver.context_current(&context), "cuCtxGetCurrent"));
  if (context == NULL)
    return lampar_fail(LAMPAR_ERROR_DRIVER,
                       "this thread has no CUDA context: set the device first, or name the arch");
  LAMPAR_TRY(lampar_driver_check(&driver, driver.context_device(&device), "cuCtxGetDevice"));
  return lampar_driver_capability(&driver, device, capability);
}

static lampar_status keep_arch_of_device(lampar_spec *spec) {
  uint32_t capability = 0, best = 0;
  LAMPAR_TRY(read_capability(&capability));
  for (size_t i = 0; i < spec->arch_count; ++i)
    if (lampar_arch_runs(spec->archs[i], capability) && spec->archs[i] > best)
      best = spec->archs[i];
  if (best != 0) return keep_arch(spec, best);
  char device[64];
  snprintf(device, sizeof device, "a device of compute capability %u.%u", capability / 10,
           capability % 10);
  return arch_missing(spec, device);
}

static lampar_status keep_world(lampar_spec *spec, uint32_t world) {
  for (size_t i = 0; i < spec->world_count; ++i) {
    if (spec->worlds[i] != world) continue;
    spec->worlds[0] = world;
    spec->world_count = 1;
    return LAMPAR_OK;
  }
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "spec %s: no kernels for %u ranks; add %u to its world field", spec->name,
                     world, world);
}

lampar_status lampar_jit_target_choose(lampar_spec *spec, const char *arch, int world) {
  if (world != 0) LAMPAR_TRY(keep_world(spec, (uint32_t)world));
  if (arch == NULL) return keep_arch_of_device(spec);
  uint32_t number;
  if (!lampar_arch_parse(arch, &number))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "arch '%s' is unknown; an arch is written like sm_90",
                       arch);
  return keep_arch(spec, number);
}
