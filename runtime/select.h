/* Which kernel a call gets, or why none. Pure: no CUDA, no pointers of the call, nothing that may
 * differ between ranks, so that all ranks choose the same. */
#ifndef LAMPAR_SELECT_H
#define LAMPAR_SELECT_H

#include "variant.h"

/* The kernels of a group, sorted as in a pack, all of one arch and world. */
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

/* The looping kernel of the same key as `index`: takes whatever the device has room for. SIZE_MAX:
 * there is none. */
size_t lampar_select_looping(const lampar_candidates *candidates, size_t index);

#endif
