/* What of a spec is built: the kernels of one arch, and of one world if that is asked for. */
#ifndef LAMPAR_JIT_TARGET_H
#define LAMPAR_JIT_TARGET_H

#include "spec/spec.h"

/* Leaves of the spec's archs the one named, or the best for the device of the current CUDA context
 * when `arch` is NULL; of its worlds `world`, unless that is 0. Errors: ARGUMENT (not an arch, or
 * the spec has none such, or no such world), DRIVER (no driver, no context). */
lampar_status lampar_jit_target_choose(lampar_spec *spec, const char *arch, int world);

#endif
