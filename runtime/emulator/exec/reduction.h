/* What NCCL's all-reduce computes. */
#ifndef LAMPAR_EMU_REDUCTION_H
#define LAMPAR_EMU_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of an element of NCCL's dtype; 0: not a dtype. */
size_t reduction_bytes(int dtype);
bool reduction_is_op(int op);

/* output[i] = op over the inputs, in their order, for `count` elements; floats in fp32 (fp64 in
 * fp64), rounded once. `output` may be one of the inputs. */
void reduction_run(void *output, const void *const *inputs, int input_count, size_t count,
                   int dtype, int op);

#endif
