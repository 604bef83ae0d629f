/* The operands of a call against those that its kernel declares. */
#ifndef LAMPAR_OPERANDS_H
#define LAMPAR_OPERANDS_H

#include "pack/arguments.h"

/* Finds each declared operand in the call and writes its pair into `tail`. Clears *is_vectorized
 * when one of them is not aligned to the vectors that the kernel would like to move. Errors:
 * ARGUMENT, with the operand that is missing, unknown, given twice, of another dtype, NULL or
 * misaligned. */
lampar_status lampar_operands_fill_from_call(const lampar_variant *variant, const lampar_call *call,
                                             uint64_t *tail, uint32_t *is_vectorized);

/* Whether the result goes into an operand, quantized, and not to call.output. */
bool lampar_operands_hold_result(const lampar_variant *variant);

#endif
