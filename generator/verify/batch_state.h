/* What batch_check.c, batch_compare.c and batch_digest.c share. */
#ifndef LAMPAR_BATCH_STATE_H
#define LAMPAR_BATCH_STATE_H

#include "verify/batch_check.h"
#include "verify/check_buffer.h"

enum { LAMPAR_BATCH_ROW_BYTES = 1 << 20 }; /* more than the outputs of a row have */

struct lampar_batch {
  lampar_check_buffer buffer;
  const lampar_batch_data *data;
  const lampar_check_call *calls;
  size_t count;
  lampar_variant variant[LAMPAR_BATCH_CALLS]; /* of each call */
  lampar_layout layout[LAMPAR_BATCH_CALLS];
  lampar_operand operands[LAMPAR_OPERANDS_MAX]; /* of the last call of lampar_batch_get */
  char *row;                                    /* outputs of a row, one after the other */
};

/* Byte of the buffer where an item of a row is. */
size_t lampar_batch_item(const lampar_batch *batch, size_t index, int block, uint64_t row,
                         uint64_t item);

/* Contiguous items of a row: all elements; of scales, one. */
uint64_t lampar_batch_run_length(const lampar_operand_info *info, uint64_t items);

#endif
