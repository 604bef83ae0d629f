/* Memory that a call reads and stores: which parts of it may be the same. */
#ifndef LAMPAR_OVERLAP_H
#define LAMPAR_OVERLAP_H

#include "pack/variant.h"

/* An output with one element per element of the message may be the same memory as an input of that
 * kind: same address, stride and element size. Each lane loads its vector of every input before it
 * stores any output, and no other lane touches that vector. All other outputs must be apart from
 * everything else. `variant` is the kernel that takes the call, and `operands` what
 * lampar_operands_fill_from_call wrote for it; NULL: a plain sum by NCCL. Memory per group is not
 * looked at: its extent depends on the stage. Errors: ARGUMENT, naming both. */
lampar_status lampar_overlap_check(const lampar_call *call, const lampar_variant *variant,
                                   const uint64_t *operands);

#endif
