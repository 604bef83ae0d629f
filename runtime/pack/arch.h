/* GPU architectures that kernels are generated for. */
#ifndef LAMPAR_ARCH_H
#define LAMPAR_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* The emulated device; every other arch is its number, sm_90: 90. */
enum { LAMPAR_ARCH_EMU = 1 };

/* All archs, ascending; 0 ends the list. */
extern const uint32_t lampar_archs[];
const char *lampar_arch_name(uint32_t arch); /* "sm_90", "emu"; NULL: unknown */
bool lampar_arch_parse(const char *name, uint32_t *arch);

/* Whether kernels for `arch` run on a device of compute capability `capability` (90 for 9.0): the
 * major numbers are equal, and the arch's minor number is not higher. */
bool lampar_arch_runs(uint32_t arch, uint32_t capability);

#endif
