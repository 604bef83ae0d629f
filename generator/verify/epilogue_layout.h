/* Where the items of an operand lie. An item is an element of the operand's dtype: of a row it has
 * `hidden`, half as many pairs of e2m1, one number per row, or a scale for each group (a word for
 * four of them where they are packed). */
#ifndef LAMPAR_EPILOGUE_LAYOUT_H
#define LAMPAR_EPILOGUE_LAYOUT_H

#include "pack/variant.h"

/* Groups of a row, the last of which may be short. */
uint64_t lampar_operand_groups(const lampar_variant *variant, const lampar_operand_info *info);

/* Items that one row has of its own; 0 for an operand that all rows share. */
uint64_t lampar_operand_row_items(const lampar_variant *variant, const lampar_operand_info *info);

/* What a stride of 0 stands for. Strides are in elements, of which a pair of e2m1 is two. */
uint64_t lampar_operand_stride(const lampar_variant *variant, const lampar_operand_info *info,
                               uint64_t rows);

/* Place of an item of a row, in items. */
uint64_t lampar_operand_item(const lampar_variant *variant, const lampar_operand_info *info,
                             uint64_t row, uint64_t item, uint64_t stride);

/* Items from the first to the last one, padding of tiles included; 0 for an operand per call. */
uint64_t lampar_operand_extent(const lampar_variant *variant, const lampar_operand_info *info,
                               uint64_t rows, uint64_t stride);

#endif
