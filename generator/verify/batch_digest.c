#include <string.h>

#include "pack/dtype.h"
#include "verify/batch_state.h"
#include "verify/epilogue_layout.h"

/* Makes the NaNs of a dtype equal. */
static void unify_nans(uint32_t dtype, char *items, uint64_t count) {
  const uint16_t infinity = dtype == LAMPAR_BF16 ? 0x7f80 : 0x7c00;
  uint16_t *const halves = (uint16_t *)items;
  uint32_t *const words = (uint32_t *)items;
  if (!lampar_dtype_has_kernels(dtype)) return;
  for (uint64_t i = 0; i < count; ++i)
    if (dtype == LAMPAR_F32)
      words[i] = (words[i] & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : words[i];
    else halves[i] = (halves[i] & 0x7fff) > infinity ? 0x7fff : halves[i];
}

/* The items of a row's output, one after the other; returns their bytes, rounded up to words. */
static size_t append(const lampar_batch *batch, size_t index, uint64_t row, int i, char *items) {
  const lampar_operand_info info = lampar_block_info(&batch->variant[index], i);
  const uint64_t count = lampar_operand_row_items(&batch->variant[index], &info);
  const size_t element = lampar_dtype_bytes(info.dtype);
  const uint64_t run = lampar_batch_run_length(&info, count);
  memset(items + (size_t)count * element / 4 * 4, 0, 4);
  for (uint64_t item = 0; item < count; item += run)
    memcpy(items + item * element,
           batch->buffer.result + lampar_batch_item(batch, index, i, row, item), run * element);
  unify_nans(info.dtype, items, count);
  return ((size_t)count * element + 3) / 4 * 4;
}

/* What a quantising stage stores. */
static bool is_quantized(const lampar_variant *variant, int block) {
  return block < LAMPAR_OPERANDS_MAX && (strcmp(variant->operands[block].name, "quantized") == 0 ||
                                         strcmp(variant->operands[block].name, "scale") == 0);
}

void lampar_batch_digest(lampar_batch *batch, size_t index, uint64_t row, bool only_quantized,
                         uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  const lampar_variant *variant = &batch->variant[index];
  size_t used = 0;
  for (int i = 0; i < LAMPAR_BLOCKS; ++i)
    if (lampar_block_is_output(variant, i) && (!only_quantized || is_quantized(variant, i)))
      used += append(batch, index, row, i, batch->row + used);
  lampar_digest(batch->row, used, digest);
}
