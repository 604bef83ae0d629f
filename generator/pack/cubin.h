/* Facts about the one kernel of a cubin, or of the shared object that arch emu uses instead. */
#ifndef LAMPAR_CUBIN_H
#define LAMPAR_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct lampar_cubin_facts {
  bool is_emulated;      /* of arch emu; the rest is then 0 */
  uint32_t registers;    /* of a thread */
  uint32_t shared_bytes; /* static, of a block */
  uint32_t stack_bytes;  /* of a thread: where spilled registers are */
} lampar_cubin_facts;

/* Reads the facts about `kernel` from a cubin. `file` is used in messages only.
 * Errors: ARGUMENT (not a cubin, damaged, or without a kernel of that name). */
lampar_status lampar_cubin_read(const void *bytes, size_t size, const char *kernel,
                                const char *file, lampar_cubin_facts *facts);

#endif
