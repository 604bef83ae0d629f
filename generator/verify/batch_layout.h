/* Where a call of a batch has its input, output and operands in the buffer of a rank. */
#ifndef LAMPAR_BATCH_LAYOUT_H
#define LAMPAR_BATCH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "pack/variant.h"

/* A plain call is a fused call without stages. The samples of a batch give dtype and hidden of its
 * fused calls. */
typedef struct lampar_check_call {
  uint32_t dtype; /* plain calls only, as hidden */
  uint64_t rows, hidden;
  uint64_t first;         /* the input's first element in the samples; rows are contiguous there */
  uint64_t first_row;     /* rows of the samples before that, also of the operands */
  uint32_t input_shift;   /* elements between a 16-byte boundary and the input, or an operand with
                             rows */
  uint32_t output_shift;  /* the same for the output */
  uint32_t rank_shift;    /* added once per rank to the one, three times to the other */
  uint32_t gap, rank_gap; /* elements between rows: gap + rank * rank_gap; of the output, with the
                             ranks counted backwards */
  bool in_place;          /* the output is the input, and the residual's output the residual */
  bool chained; /* plain only: the input is the output of the call before, of the same shape */
  uint32_t lane;
  uint32_t stream; /* 0 or 1 */
} lampar_check_call;

/* Blocks: operands by index, then the two that every call has. */
enum {
  LAMPAR_BLOCK_INPUT = LAMPAR_OPERANDS_MAX,
  LAMPAR_BLOCK_OUTPUT,
  LAMPAR_BLOCKS,
};

/* A contiguous part of the buffer. */
typedef struct lampar_block {
  size_t offset, bytes; /* no bytes: the call does not have this block */
  uint64_t stride;      /* elements */
} lampar_block;

typedef struct lampar_layout {
  lampar_block block[LAMPAR_BLOCKS];
} lampar_layout;

/* Description of a block; input and output are like operands with rows. */
lampar_operand_info lampar_block_info(const lampar_variant *variant, int block);
bool lampar_block_exists(const lampar_variant *variant, int block);
bool lampar_block_is_output(const lampar_variant *variant, int block);

/* Lays the call out after `*cursor`, each block between guards, and moves the cursor. `before` is
 * the layout of the call that a chained one continues. */
void lampar_layout_make(const lampar_variant *variant, const lampar_check_call *call, int rank,
                        const lampar_layout *before, lampar_layout *layout, size_t *cursor);

/* Upper bound of its bytes on any rank: all ranks must cut a list into the same batches. */
size_t lampar_layout_bytes(const lampar_variant *variant, const lampar_check_call *call);

#endif
