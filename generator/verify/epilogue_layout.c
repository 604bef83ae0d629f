#include "verify/epilogue_layout.h"

#include <string.h>

#include "verify/formats.h"

/* Scales of one byte: in tiles, unless the stage's option selects rows. */
static bool is_tiled(const lampar_variant *variant, const lampar_operand_info *info) {
  return info->dtype == LAMPAR_F8E4M3 && strstr(variant->epilogue, ".scales_linear") == NULL;
}

uint64_t lampar_operand_groups(const lampar_variant *variant, const lampar_operand_info *info) {
  return info->group > 0 ? (variant->hidden + info->group - 1) / info->group : 0;
}

uint64_t lampar_operand_row_items(const lampar_variant *variant, const lampar_operand_info *info) {
  const uint64_t groups = lampar_operand_groups(variant, info);
  switch (info->granularity) {
  case LAMPAR_GRANULARITY_ELEMENT:
    return info->dtype == LAMPAR_F4E2M1X2 ? variant->hidden / 2 : variant->hidden;
  case LAMPAR_GRANULARITY_ROW: return 1;
  case LAMPAR_GRANULARITY_GROUP: return info->dtype == LAMPAR_U32 ? (groups + 3) / 4 : groups;
  default: return 0;
  }
}

uint64_t lampar_operand_stride(const lampar_variant *variant, const lampar_operand_info *info,
                               uint64_t rows) {
  if (info->granularity == LAMPAR_GRANULARITY_ELEMENT) return variant->hidden;
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && info->dtype != LAMPAR_F8E4M3)
    return (rows + 3) / 4 * 4;
  return lampar_operand_row_items(variant, info);
}

uint64_t lampar_operand_item(const lampar_variant *variant, const lampar_operand_info *info,
                             uint64_t row, uint64_t item, uint64_t stride) {
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && is_tiled(variant, info))
    return lampar_layout_tiles(row, item, lampar_operand_groups(variant, info));
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && info->dtype != LAMPAR_F8E4M3)
    return lampar_layout_columns(row, item, stride);
  return row * stride / (info->dtype == LAMPAR_F4E2M1X2 ? 2 : 1) + item;
}

uint64_t lampar_operand_extent(const lampar_variant *variant, const lampar_operand_info *info,
                               uint64_t rows, uint64_t stride) {
  const uint64_t items = lampar_operand_row_items(variant, info);
  switch (info->granularity) {
  case LAMPAR_GRANULARITY_CALL: return 0;
  case LAMPAR_GRANULARITY_TENSOR: return 1;
  case LAMPAR_GRANULARITY_COLUMN: return variant->hidden;
  default: break;
  }
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && is_tiled(variant, info))
    return lampar_layout_tiles_bytes(rows, items);
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && info->dtype != LAMPAR_F8E4M3)
    return items * stride;
  return lampar_operand_item(variant, info, rows - 1, items - 1, stride) + 1;
}
