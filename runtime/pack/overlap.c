#include "pack/overlap.h"

#include <stdbool.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "pack/operands.h"

/* Rows of bytes, one behind the other at a distance. */
typedef struct extent {
  const char *name;
  uintptr_t address;
  uint64_t rows, stride, width; /* bytes */
  bool is_output, is_per_element;
} extent;

enum { EXTENTS_MAX = 2 + LAMPAR_OPERANDS_MAX };

typedef struct extents {
  extent list[EXTENTS_MAX];
  size_t count;
} extents;

typedef enum relation { APART, SAME, PARTLY } relation;

static uintptr_t end_of(const extent *e) {
  return e->address + (e->rows - 1) * e->stride + e->width;
}

/* Rows of two tensors may alternate in memory: the columns of one larger tensor. */
static bool rows_alternate(const extent *low, const extent *high) {
  if (low->rows == 1 || high->rows == 1 || low->stride != high->stride) return false;
  const uint64_t distance = (high->address - low->address) % low->stride;
  return low->width <= distance && distance + high->width <= low->stride;
}

static relation relate(const extent *a, const extent *b) {
  if (end_of(a) <= b->address || end_of(b) <= a->address) return APART;
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
                                     .rows = rows,
                                     .stride = stride,
                                     .width = width,
                                     .is_output = is_output,
                                     .is_per_element = is_per_element};
}

static void add_operand(extents *all, const lampar_operand_info *declared,
                        const lampar_operand *given, const lampar_call *call) {
  const uint64_t bits = lampar_dtype_bits(declared->dtype);
  const uint64_t stride = given->stride != 0 ? given->stride : call->hidden;
  const bool is_output = declared->output != 0;
  switch (declared->granularity) {
  case LAMPAR_GRANULARITY_ELEMENT:
    add(all, declared->name, given->data, call->rows, stride * bits / 8, call->hidden * bits / 8,
        is_output, true);
    break;
  case LAMPAR_GRANULARITY_COLUMN:
    add(all, declared->name, given->data, 1, 0, call->hidden * bits / 8, is_output, false);
    break;
  case LAMPAR_GRANULARITY_ROW:
    add(all, declared->name, given->data, call->rows,
        (given->stride != 0 ? given->stride : 1) * bits / 8, bits / 8, is_output, false);
    break;
  case LAMPAR_GRANULARITY_TENSOR:
    add(all, declared->name, given->data, 1, 0, bits / 8, is_output, false);
    break;
  default: break;
  }
}

lampar_status lampar_overlap_check(const lampar_call *call, const lampar_variant *variant) {
  extents all = {.count = 0};
  const uint64_t element = lampar_dtype_bytes(call->dtype), row = call->hidden * element;
  const uint64_t input_stride = call->input_stride != 0 ? call->input_stride : call->hidden;
  const uint64_t output_stride = call->output_stride != 0 ? call->output_stride : call->hidden;
  add(&all, "call.input", call->input, call->rows, input_stride * element, row, false, true);
  if (variant == NULL || !lampar_operands_hold_result(variant))
    add(&all, "call.output", call->output, call->rows, output_stride * element, row, true, true);
  for (uint32_t i = 0; variant != NULL && i < variant->operand_count; ++i)
    add_operand(&all, &variant->operands[i], lampar_operands_find(call, variant->operands[i].name),
                call);

  for (size_t i = 0; i < all.count; ++i)
    for (size_t j = 0; j < all.count; ++j)
      if (i != j && all.list[i].is_output && !(all.list[j].is_output && j < i))
        LAMPAR_TRY(check_pair(&all.list[i], &all.list[j]));
  return LAMPAR_OK;
}
