/* Matches the operands of a call with those that its kernel declares. */
#ifndef LAMPAR_OPERANDS_H
#define LAMPAR_OPERANDS_H

#include "pack/arguments.h"

/* Writes address (or value) and stride of each declared operand into `tail`. Clears *is_vectorized
 * if an operand is not aligned to its vectors. Errors: ARGUMENT, naming the operand that is
 * missing, unknown, given twice, of another dtype, NULL or misaligned. */
lampar_status lampar_operands_fill_from_call(const lampar_variant *variant, const lampar_call *call,
                                             uint64_t *tail, uint32_t *is_vectorized);

/* Whether the result goes, quantized, into an operand instead of call.output. */
bool lampar_operands_hold_result(const lampar_variant *variant);

#endif
