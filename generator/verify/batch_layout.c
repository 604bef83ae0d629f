#include "verify/batch_layout.h"

#include <string.h>

#include "pack/dtype.h"
#include "verify/check_buffer.h"
#include "verify/epilogue_check.h"
#include "verify/epilogue_layout.h"

lampar_operand_info lampar_block_info(const lampar_variant *variant, int block) {
  if (block < LAMPAR_OPERANDS_MAX) return variant->operands[block];
  return (lampar_operand_info){
      .name = "", .dtype = variant->dtype, .granularity = LAMPAR_GRANULARITY_ELEMENT};
}

bool lampar_block_exists(const lampar_variant *variant, int block) {
  if (block == LAMPAR_BLOCK_INPUT) return true;
  if (block == LAMPAR_BLOCK_OUTPUT) return !lampar_epilogue_quantizes(variant);
  return (uint32_t)block < variant->operand_count &&
         variant->operands[block].granularity != LAMPAR_GRANULARITY_CALL;
}

bool lampar_block_is_output(const lampar_variant *variant, int block) {
  return lampar_block_exists(variant, block) &&
         (block == LAMPAR_BLOCK_OUTPUT ||
          (block < LAMPAR_OPERANDS_MAX && variant->operands[block].output));
}

/* The block whose place another one shares; -1: none. */
static int shared_block(const lampar_variant *variant, const lampar_check_call *call, int block) {
  if (!call->in_place) return -1;
  if (block == LAMPAR_BLOCK_OUTPUT) return LAMPAR_BLOCK_INPUT;
  if (block < LAMPAR_OPERANDS_MAX && strcmp(variant->operands[block].name, "residual_out") == 0)
    return lampar_variant_operand(variant, "residual");
  return -1;
}

/* What differs between the ranks. */
typedef struct rank_offset {
  uint64_t gaps, output_gaps; /* times rank_gap */
  uint32_t shifts;            /* times rank_shift */
} rank_offset;

/* Scales in tiles have no stride. */
static uint64_t stride_of(const lampar_variant *variant, const lampar_operand_info *info,
                          const lampar_check_call *call, uint64_t gaps) {
  const uint64_t stride = lampar_operand_stride(variant, info, call->rows);
  const uint64_t gap = call->gap + gaps * call->rank_gap;
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && info->dtype == LAMPAR_F8E4M3) return stride;
  return info->dtype == LAMPAR_F4E2M1X2 ? stride + 2 * gap : stride + gap;
}

static lampar_block place(const lampar_variant *variant, const lampar_check_call *call,
                          rank_offset offset, int block, size_t *cursor) {
  const bool is_output = block == LAMPAR_BLOCK_OUTPUT;
  const lampar_operand_info info = lampar_block_info(variant, block);
  const size_t element = lampar_dtype_bytes(info.dtype);
  const uint64_t stride =
      stride_of(variant, &info, call, is_output ? offset.output_gaps : offset.gaps);
  const uint32_t shift = is_output ? call->output_shift + 3 * offset.shifts * call->rank_shift
                                   : call->input_shift + offset.shifts * call->rank_shift;
  const size_t at = (*cursor + LAMPAR_GUARD_BYTES + LAMPAR_BUFFER_ALIGNMENT - 1) /
                    LAMPAR_BUFFER_ALIGNMENT * LAMPAR_BUFFER_ALIGNMENT;
  const lampar_block placed = {
      .offset = at + shift % (LAMPAR_BUFFER_ALIGNMENT / element) * element,
      .bytes = (size_t)lampar_operand_extent(variant, &info, call->rows, stride) * element,
      .stride = stride};
  *cursor = placed.offset + placed.bytes + LAMPAR_GUARD_BYTES;
  return placed;
}

static void make_layout(const lampar_variant *variant, const lampar_check_call *call,
                        rank_offset offset, lampar_layout *layout, size_t *cursor) {
  /* Blocks of their own come first: the others share the places of these. */
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < LAMPAR_BLOCKS; ++i) {
      if (!lampar_block_exists(variant, i)) continue;
      const int shared = shared_block(variant, call, i);
      if ((shared >= 0) != (pass == 1) || layout->block[i].bytes > 0) continue;
      layout->block[i] =
          shared >= 0 ? layout->block[shared] : place(variant, call, offset, i, cursor);
    }
}

void lampar_layout_make(const lampar_variant *variant, const lampar_check_call *call, int rank,
                        const lampar_layout *before, lampar_layout *layout, size_t *cursor) {
  const rank_offset offset = {.gaps = (uint64_t)rank,
                              .output_gaps = variant->world - 1 - (uint32_t)rank,
                              .shifts = (uint32_t)rank};
  *layout = (lampar_layout){0};
  if (call->chained) layout->block[LAMPAR_BLOCK_INPUT] = before->block[LAMPAR_BLOCK_OUTPUT];
  make_layout(variant, call, offset, layout, cursor);
}

size_t lampar_layout_bytes(const lampar_variant *variant, const lampar_check_call *call) {
  const rank_offset most = {.gaps = LAMPAR_WORLD_MAX, .output_gaps = LAMPAR_WORLD_MAX};
  lampar_layout layout = {0};
  size_t cursor = 0;
  make_layout(variant, call, most, &layout, &cursor);
  /* A shift, and what aligning the next block adds after another one. */
  return cursor + 2 * LAMPAR_BUFFER_ALIGNMENT * (variant->operand_count + 2);
}
