/* What liblampar exports for liblampar-jit, with base/error.h, under the version LAMPAR_PRIVATE.
 * Not installed; both libraries come from one build. */
#ifndef LAMPAR_PRIVATE_API_H
#define LAMPAR_PRIVATE_API_H

#include "lampar/lampar.h"

/* Like lampar_pack_open_memory, but takes ownership of `data`, which comes from malloc: it is freed
 * when the pack is closed, and also on an error. */
LAMPAR_API lampar_status lampar_pack_open_owned(void *data, size_t size, const char *name,
                                                lampar_pack **pack);

#endif
