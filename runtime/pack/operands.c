#include "pack/operands.h"

#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"

static const lampar_operand *given_at(const lampar_call *call, uint32_t i) {
  return (const lampar_operand *)((const char *)call->operands + i * call->operand_size);
}

/* A caller built against a newer header has larger elements; the fields that this version does not
 * know must be zero. */
static lampar_status check_size(const lampar_call *call) {
  const size_t size = call->operand_size;
  if (call->operand_count > 0 && (size < sizeof(lampar_operand) || size % sizeof(void *) != 0))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "call.operand_size is %zu, an operand has %zu bytes: start from "
                       "LAMPAR_CALL_INIT",
                       size, sizeof(lampar_operand));
  for (uint32_t i = 0; i < call->operand_count; ++i)
    for (size_t at = sizeof(lampar_operand); at < size; ++at)
      if (((const char *)given_at(call, i))[at] != 0)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                           "call.operands[%u] uses fields that lampar %s does not have: update the "
                           "library",
                           i, lampar_version());
  return LAMPAR_OK;
}

static lampar_status check_given(const lampar_variant *variant, const lampar_call *call) {
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    const char *name = given_at(call, i)->name;
    if (name == NULL || lampar_variant_operand(variant, name) < 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "epilogue %s has no operand \"%s\"",
                         variant->epilogue, name != NULL ? name : "NULL");
    for (uint32_t j = 0; j < i; ++j)
      if (strcmp(given_at(call, j)->name, name) == 0)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT, "operand \"%s\" is given twice", name);
  }
  return LAMPAR_OK;
}

static const lampar_operand *find_given(const lampar_call *call, const char *name) {
  for (uint32_t i = 0; i < call->operand_count; ++i)
    if (strcmp(given_at(call, i)->name, name) == 0) return given_at(call, i);
  return NULL;
}

static lampar_status check_operand(const lampar_variant *variant,
                                   const lampar_operand_info *declared,
                                   const lampar_operand *given) {
  if (given == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "epilogue %s needs operand \"%s\"", variant->epilogue,
                       declared->name);
  if ((uint32_t)given->dtype != declared->dtype)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "operand \"%s\" is %s, epilogue %s takes it as %s: it is never reinterpreted",
        declared->name, lampar_dtype_name(given->dtype), variant->epilogue,
        lampar_dtype_name(declared->dtype));
  if (declared->granularity == LAMPAR_GRANULARITY_CALL) return LAMPAR_OK;
  if (given->data == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "operand \"%s\": data is NULL", declared->name);
  if ((uintptr_t)given->data % lampar_dtype_bytes(declared->dtype) != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "operand \"%s\" is not aligned to its %zu-byte elements", declared->name,
                       lampar_dtype_bytes(declared->dtype));
  if (declared->granularity == LAMPAR_GRANULARITY_ELEMENT && given->stride > 0 &&
      given->stride < variant->hidden)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "operand \"%s\": stride %llu is less than a row of %u elements",
                       declared->name, (unsigned long long)given->stride, variant->hidden);
  if (declared->dtype == LAMPAR_F4E2M1X2 && given->stride % 2 != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "operand \"%s\": stride %llu is odd, two elements are a byte",
                       declared->name, (unsigned long long)given->stride);
  return LAMPAR_OK;
}

/* Alignment with which all vectors of the operand can be loaded and stored whole: the bytes that go
 * with one vector of the message. */
static uint64_t vector_bytes(const lampar_variant *variant, const lampar_operand_info *declared) {
  if (declared->granularity != LAMPAR_GRANULARITY_ELEMENT &&
      declared->granularity != LAMPAR_GRANULARITY_COLUMN)
    return 1;
  const uint64_t elements = LAMPAR_VECTOR_BYTES / lampar_dtype_bytes(variant->dtype);
  const uint64_t bytes = elements * lampar_dtype_bits(declared->dtype) / 8;
  return bytes < LAMPAR_VECTOR_BYTES ? bytes : LAMPAR_VECTOR_BYTES;
}

static lampar_status check_alignment(const lampar_variant *variant,
                                     const lampar_operand_info *declared, const void *data,
                                     uint64_t stride, uint32_t *is_vectorized) {
  const uint64_t bytes = vector_bytes(variant, declared);
  const bool is_data_aligned = (uintptr_t)data % bytes == 0;
  const bool is_stride_aligned = declared->granularity != LAMPAR_GRANULARITY_ELEMENT ||
                                 stride * lampar_dtype_bits(declared->dtype) / 8 % bytes == 0;
  if (is_data_aligned && is_stride_aligned) return LAMPAR_OK;
  *is_vectorized = 0;
  if (variant->alignment == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "operand \"%s\": its %s is not a multiple of %llu bytes: align it or build "
                     "the pack without alignment = %u",
                     declared->name, is_data_aligned ? "stride" : "address",
                     (unsigned long long)bytes, variant->alignment);
}

lampar_status lampar_operands_fill_from_call(const lampar_variant *variant, const lampar_call *call,
                                             uint64_t *tail, uint32_t *is_vectorized) {
  LAMPAR_TRY(check_size(call));
  LAMPAR_TRY(check_given(variant, call));
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    const lampar_operand_info *declared = &variant->operands[i];
    const lampar_operand *given = find_given(call, declared->name);
    LAMPAR_TRY(check_operand(variant, declared, given));
    uint64_t stride = given->stride;
    if (stride == 0 && declared->granularity == LAMPAR_GRANULARITY_ELEMENT)
      stride = variant->hidden;
    if (declared->granularity == LAMPAR_GRANULARITY_CALL)
      memcpy(&tail[2 * i], &given->value, sizeof given->value);
    else tail[2 * i] = (uint64_t)(uintptr_t)given->data;
    tail[2 * i + 1] = stride;
    LAMPAR_TRY(check_alignment(variant, declared, given->data, stride, is_vectorized));
  }
  return LAMPAR_OK;
}

bool lampar_operands_hold_result(const lampar_variant *variant) {
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    const lampar_operand_info *operand = &variant->operands[i];
    if (operand->output && operand->granularity == LAMPAR_GRANULARITY_ELEMENT &&
        !lampar_dtype_has_kernels(operand->dtype))
      return true;
  }
  return false;
}
