/* The archs of a spec. */
#ifndef LAMPAR_SPEC_ARCHS_H
#define LAMPAR_SPEC_ARCHS_H

#include "spec/spec.h"

enum { LAMPAR_SPEC_ARCH_NAMES_BYTES = 16 * LAMPAR_SPEC_ARCHS };

bool lampar_archs_contain(const uint32_t *archs, size_t count, uint32_t arch);

/* Keeps only these archs, which the spec has; no two are equal. */
void lampar_spec_keep_archs(lampar_spec *spec, const uint32_t *archs, size_t count);

/* For messages: " sm_90 sm_100". */
void lampar_spec_arch_names(const lampar_spec *spec, char names[LAMPAR_SPEC_ARCH_NAMES_BYTES]);

#endif
