/* Reduces a spec to what a process needs: the kernels of one arch, and of one world if requested.
 */
#ifndef LAMPAR_JIT_TARGET_H
#define LAMPAR_JIT_TARGET_H

#include "spec/spec.h"

/* Keeps only `arch` of the spec's archs, or, when it is NULL, the best one for the device of the
 * current CUDA context; and only `world` of its worlds, unless that is 0. Errors: ARGUMENT (not an
 * arch; the spec lacks the arch or the world), DRIVER (no driver, no context). */
lampar_status lampar_jit_target_choose(lampar_spec *spec, const char *arch, int world);

#endif
