#include "pack/overlap.h"

#include <stdbool.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "pack/operands.h"

/* Rows of bytes, one behind the other at a distance. */
typedef struct extent {
  const char *name;
  uintptr_t address, end;
  uint64_t rows, stride, width; /* bytes */
  bool is_output, is_per_element;
} extent;

enum { EXTENTS_MAX = 2 + LAMPAR_OPERANDS_MAX };

typedef struct extents {
  extent list[EXTENTS_MAX];
  size_t count;
} extents;

typedef enum relation { APART, SAME, PARTLY } relation;

/* Rows of two tensors may alternate in memory: the columns of one larger tensor. */
static bool rows_alternate(const extent *low, const extent *high) {
  if (low->rows == 1 || high->rows == 1 || low->stride != high->stride) return false;
  const uint64_t distance = (high->address - low->address) % low->stride;
  return low->width <= distance && distance + high->width <= low->stride;
}

static relation relate(const extent *a, const extent *b) {
  if (a->end <= b->address || b->end <= a->address) return APART;
  if (a->address == b->address && a->width == b->width && a->rows == b->rows &&
      (a->rows == 1 || a->stride == b->stride))
    return SAME;
  const bool is_ordered = a->address <= b->address;
  return rows_alternate(is_ordered ? a : b, is_ordered ? b : a) ? APART : PARTLY;
}

static lampar_status check_pair(const extent *output, const extent *other) {
  const relation found = relate(output, other);
  if (found == APART) return LAMPAR_OK;
  if (found == SAME && other->is_output)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "%s and %s are stored to the same memory: give each its own", output->name,
                       other->name);
  if (found == SAME && output->is_per_element && other->is_per_element) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s overlaps %s: %s", output->name, other->name,
                     output->is_per_element && other->is_per_element
                         ? "give both the same address and stride, or separate memory"
                         : "give it separate memory");
}

static void add(extents *all, const char *name, const void *data, uint64_t rows, uint64_t stride,
                uint64_t width, bool is_output, bool is_per_element) {
  if (data == NULL || width == 0) return;
  all->list[all->count++] = (extent){.name = name,
                                     .address = (uintptr_t)data,
                                     .end = (uintptr_t)data + (rows - 1) * stride + width,
                                     .rows = rows,
                                     .stride = stride,
                                     .width = width,
                                     .is_output = is_output,
                                     .is_per_element = is_per_element};
}

/* `given` is the operand's address and stride. */
static void add_operand(extents *all, const lampar_operand_info *declared, const uint64_t given[2],
                        const lampar_call *call) {
  const uint64_t bits = lampar_dtype_bits(declared->dtype);
  const void *const data = (const void *)(uintptr_t)given[0];
  const bool is_output = declared->output != 0;
  switch (declared->granularity) {
  case LAMPAR_GRANULARITY_ELEMENT:
    add(all, declared->name, data, call->rows, given[1] * bits / 8, call->hidden * bits / 8,
        is_output, true);
    break;
  case LAMPAR_GRANULARITY_COLUMN:
    add(all, declared->name, data, 1, 0, call->hidden * bits / 8, is_output, false);
    break;
  case LAMPAR_GRANULARITY_ROW:
    add(all, declared->name, data, call->rows, (given[1] != 0 ? given[1] : 1) * bits / 8, bits / 8,
        is_output, false);
    break;
  case LAMPAR_GRANULARITY_TENSOR:
    add(all, declared->name, data, 1, 0, bits / 8, is_output, false);
    break;
  default: break;
  }
}

lampar_status lampar_overlap_check(const lampar_call *call, const lampar_variant *variant,
                                   const uint64_t *operands) {
  extents all;
  all.count = 0; /* the list stays as it is: a call must not take longer than it has to */
  const uint64_t element = lampar_dtype_bytes(call->dtype), row = call->hidden * element;
  const uint64_t input_stride = call->input_stride != 0 ? call->input_stride : call->hidden;
  const uint64_t output_stride = call->output_stride != 0 ? call->output_stride : call->hidden;
  add(&all, "call.input", call->input, call->rows, input_stride * element, row, false, true);
  if (variant == NULL || !lampar_operands_hold_result(variant))
    add(&all, "call.output", call->output, call->rows, output_stride * element, row, true, true);
  for (uint32_t i = 0; variant != NULL && i < variant->operand_count; ++i)
    add_operand(&all, &variant->operands[i], &operands[2 * i], call);

  for (size_t i = 0; i < all.count; ++i)
    for (size_t j = 0; j < all.count; ++j)
      if (i != j && all.list[i].is_output && !(all.list[j].is_output && j < i))
        LAMPAR_TRY(check_pair(&all.list[i], &all.list[j]));
  return LAMPAR_OK;
}
