#include "verify/row_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/reference.h"

const lampar_operand_memory *lampar_row_check_operand(const lampar_row_check *check,
                                                      const char *name,
                                                      const lampar_operand_info **info) {
  const lampar_variant *variant = check->call->variant;
  const int index = lampar_variant_operand(variant, name);
  if (index < 0) return NULL;
  if (info != NULL) *info = &variant->operands[index];
  return &check->call->operand[index];
}

float lampar_row_check_number(const lampar_operand_info *info, const lampar_operand_memory *memory,
                              size_t index) {
  return lampar_decode(info->dtype, lampar_element_load(info->dtype, memory->expected, index));
}

float lampar_row_check_scalar(const lampar_row_check *check, const char *name) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, name, &info);
  if (memory == NULL) return NAN;
  if (info->granularity == LAMPAR_GRANULARITY_CALL)
    return check->call->value[memory - check->call->operand];
  return lampar_row_check_number(info, memory, 0);
}

lampar_status lampar_row_check_wrong(const lampar_row_check *check, const char *operand,
                                     size_t index, double got, double expected) {
  const lampar_variant *variant = check->call->variant;
  return lampar_fail(LAMPAR_ERROR_MISMATCH,
                     "%s: wrong %s at %.*s (%s, world %u, %llu x %u): row %llu, element %zu: got "
                     "%.9g, expected %.9g",
                     variant->epilogue, operand, check->stage_length, check->stage,
                     lampar_dtype_name(check->dtype), variant->world,
                     (unsigned long long)check->call->rows, variant->hidden,
                     (unsigned long long)check->row, index, got, expected);
}

/* "rmsnorm.weight_f32.offset_1" */
const char *lampar_row_check_option(const lampar_row_check *check, const char *name,
                                    const char *absent, char value[32]) {
  const char *const end = check->stage + check->stage_length;
  const size_t length = strlen(name);
  const char *at = memchr(check->stage, '.', (size_t)check->stage_length);
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
