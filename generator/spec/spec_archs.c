#include "spec/spec_archs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "pack/arch.h"

bool lampar_archs_contain(const uint32_t *archs, size_t count, uint32_t arch) {
  for (size_t i = 0; i < count; ++i)
    if (archs[i] == arch) return true;
  return false;
}

void lampar_spec_keep_archs(lampar_spec *spec, const uint32_t *archs, size_t count) {
  assert(count <= spec->arch_count);
  memmove(spec->archs, archs, count * sizeof *archs);
  spec->arch_count = count;
}

void lampar_spec_arch_names(const lampar_spec *spec, char names[LAMPAR_SPEC_ARCH_NAMES_BYTES]) {
  size_t used = 0;
  names[0] = '\0';
  for (size_t i = 0; i < spec->arch_count; ++i)
    used += (size_t)snprintf(names + used, LAMPAR_SPEC_ARCH_NAMES_BYTES - used, " %s",
                             lampar_arch_name(spec->archs[i]));
  assert(used < LAMPAR_SPEC_ARCH_NAMES_BYTES);
}
