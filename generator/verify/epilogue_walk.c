#include "verify/epilogue_walk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/reference.h"

const lampar_operand_memory *lampar_walk_operand(const lampar_walk *walk, const char *name,
                                                 const lampar_operand_info **info) {
  const lampar_variant *variant = walk->call->variant;
  const int index = lampar_variant_operand(variant, name);
  if (index < 0) return NULL;
  if (info != NULL) *info = &variant->operands[index];
  return &walk->call->operand[index];
}

float lampar_walk_number(const lampar_operand_info *info, const lampar_operand_memory *memory,
                         size_t index) {
  return lampar_decode(info->dtype, lampar_element_load(info->dtype, memory->expected, index));
}

float lampar_walk_scalar(const lampar_walk *walk, const char *name) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, name, &info);
  if (memory == NULL) return NAN;
  if (info->granularity == LAMPAR_GRANULARITY_CALL)
    return walk->call->value[memory - walk->call->operand];
  return lampar_walk_number(info, memory, 0);
}

lampar_status lampar_walk_wrong(const lampar_walk *walk, const char *operand, size_t index,
                                double got, double expected) {
  const lampar_variant *variant = walk->call->variant;
  return lampar_fail(LAMPAR_ERROR_SYSTEM,
                     "%s: wrong %s at %.*s (%s, world %u, %llu x %u): row %llu, element %zu: got "
                     "%.9g, expected %.9g",
                     variant->epilogue, operand, walk->stage_length, walk->stage,
                     lampar_dtype_name(walk->dtype), variant->world,
                     (unsigned long long)walk->call->rows, variant->hidden,
                     (unsigned long long)walk->row, index, got, expected);
}

/* "rmsnorm.weight_f32.offset_1" */
const char *lampar_walk_option(const lampar_walk *walk, const char *name, const char *absent,
                               char value[32]) {
  const char *const end = walk->stage + walk->stage_length;
  const size_t length = strlen(name);
  const char *at = memchr(walk->stage, '.', (size_t)walk->stage_length);
  while (at != NULL && ++at + length < end) {
    if (strncmp(at, name, length) == 0 && at[length] == '_') {
      at += length + 1;
      snprintf(value, 32, "%.*s", (int)strcspn(at, ".+"), at);
      return value;
    }
    at = memchr(at, '.', (size_t)(end - at));
  }
  return absent;
}
