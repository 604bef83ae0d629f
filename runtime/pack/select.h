/* Selects a call's kernel, or the reason why there is none. Uses nothing that may differ between
 * ranks, such as addresses, so that all ranks select the same. */
#ifndef LAMPAR_SELECT_H
#define LAMPAR_SELECT_H

#include "pack/variant.h"

/* Kernels of one arch and world, sorted as in a pack. */
typedef struct lampar_candidates {
  const lampar_variant *const *variants;
  size_t count;
  uint64_t mailboxes; /* of one lane */
} lampar_candidates;

typedef struct lampar_selection {
  lampar_reason reason; /* NONE: `index` is the kernel */
  size_t index;
} lampar_selection;

lampar_selection lampar_select(const lampar_candidates *candidates, const lampar_call *call);

/* The persistent kernel of the same key and algorithm as `index`: runs with as few blocks as the
 * device has room for, and takes every address that `index` takes. SIZE_MAX: there is none. */
size_t lampar_select_persistent(const lampar_candidates *candidates, size_t index);

/* Among the kernels of world 1, the one that applies the call's epilogue to a finished sum. It is
 * persistent, so it takes any number of rows. SIZE_MAX: there is none. */
size_t lampar_select_epilogue_only(const lampar_candidates *epilogue_only, const lampar_call *call);

#endif
