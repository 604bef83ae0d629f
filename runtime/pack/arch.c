#include "pack/arch.h"

#include <string.h>

const uint32_t lampar_archs[] = {LAMPAR_ARCH_EMU, 80, 89, 90, 100, 103, 120, 0};
static const char *const arch_names[] = {"emu",    "sm_80",  "sm_89", "sm_90",
                                         "sm_100", "sm_103", "sm_120"};

const char *lampar_arch_name(uint32_t arch) {
  for (size_t i = 0; lampar_archs[i] != 0; ++i)
    if (lampar_archs[i] == arch) return arch_names[i];
  return NULL;
}

bool lampar_arch_parse(const char *name, uint32_t *arch) {
  for (size_t i = 0; lampar_archs[i] != 0; ++i) {
    if (strcmp(arch_names[i], name) != 0) continue;
    *arch = lampar_archs[i];
    return true;
  }
  return false;
}

bool lampar_arch_runs(uint32_t arch, uint32_t capability) {
  return arch / 10 == capability / 10 && arch <= capability;
}
