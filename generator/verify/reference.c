#include "verify/reference.h"

#include <math.h>
#include <string.h>

#include "pack/dtype.h"

typedef struct format {
  int mantissa_bits;
  int exponent_min; /* of the smallest normal number */
  double largest;
} format;

static format format_of(uint32_t dtype) {
  switch (dtype) {
  case LAMPAR_BF16: return (format){7, -126, 0x1.fep127};
  case LAMPAR_F16: return (format){10, -14, 65504.0};
  default: return (format){23, -126, 0x1.fffffep127};
  }
}

static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float decode_f16(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 0x1f,
                 mantissa = bits & 0x3ff;
  if (exponent == 0) return float_of_bits(sign | bits_of_float((float)mantissa * 0x1p-24f));
  if (exponent == 0x1f) return float_of_bits(sign | 0x7f800000 | mantissa << 13);
  return float_of_bits(sign | (exponent - 15 + 127) << 23 | mantissa << 13);
}

static inline uint32_t encode_f32(float value) {
  return isnan(value) ? 0x7fffffff : bits_of_float(value);
}

/* Adding one less than half of the last kept bit, and that bit itself, carries exactly when the
 * rest is above half, or half and the kept part odd. The carry moves on into the exponent, up to
 * infinity. */
static inline uint32_t round_off(uint32_t bits, int dropped) {
  return (bits + ((1u << (dropped - 1)) - 1) + (bits >> dropped & 1)) >> dropped;
}

static inline uint32_t encode_bf16(float value) {
  return isnan(value) ? 0x7fff : round_off(bits_of_float(value), 16);
}

static inline uint32_t encode_f16(float value) {
  if (isnan(value)) return 0x7fff;
  const uint32_t sign = bits_of_float(value) >> 16 & 0x8000;
  const float absolute = fabsf(value);
  if (absolute >= 65520.0f) return sign | 0x7c00; /* half an ulp above the largest, and more */
  /* Below the normal range the value is a count of 2^-24; 1024 of them are the smallest normal. */
  if (absolute < 0x1p-14f) return sign | (uint32_t)rintf(absolute * 0x1p24f);
  return sign | round_off(bits_of_float(absolute) - ((127 - 15) << 23), 13);
}

float lampar_decode(uint32_t dtype, uint32_t bits) {
  switch (dtype) {
  case LAMPAR_BF16: return float_of_bits(bits << 16);
  case LAMPAR_F16: return decode_f16(bits);
  default: return float_of_bits(bits);
  }
}

uint32_t lampar_encode(uint32_t dtype, float value) {
  switch (dtype) {
  case LAMPAR_BF16: return encode_bf16(value);
  case LAMPAR_F16: return encode_f16(value);
  default: return encode_f32(value);
  }
}

uint32_t lampar_element_load(uint32_t dtype, const void *array, size_t index) {
  return dtype == LAMPAR_F32 ? ((const uint32_t *)array)[index] : ((const uint16_t *)array)[index];
}

void lampar_element_store(uint32_t dtype, void *array, size_t index, uint32_t bits) {
  if (dtype == LAMPAR_F32) ((uint32_t *)array)[index] = bits;
  else ((uint16_t *)array)[index] = (uint16_t)bits;
}

/* One loop for each dtype, so that a compiler sees which conversion it holds. */
#define SUM_LOOP(word, decode, encode)                                                             \
  for (size_t i = 0; i < count; ++i) {                                                             \
    float sum = decode(((const word *)inputs[0])[i]);                                              \
    for (int rank = 1; rank < world; ++rank) sum += decode(((const word *)inputs[rank])[i]);       \
    ((word *)output)[i] = (word)encode(sum);                                                       \
  }

static inline float decode_bf16(uint32_t bits) {
  return float_of_bits(bits << 16);
}

void lampar_reference_sum(uint32_t dtype, int world, const void *const *inputs, size_t count,
                          void *output) {
  switch (dtype) {
  case LAMPAR_BF16: SUM_LOOP(uint16_t, decode_bf16, encode_bf16); break;
  case LAMPAR_F16: SUM_LOOP(uint16_t, decode_f16, encode_f16); break;
  default: SUM_LOOP(uint32_t, float_of_bits, encode_f32); break;
  }
}

size_t lampar_reference_difference(uint32_t dtype, const void *expected, const void *got,
                                   size_t count) {
  if (memcmp(expected, got, count * lampar_dtype_bytes(dtype)) == 0) return count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t a = lampar_element_load(dtype, expected, i);
    const uint32_t b = lampar_element_load(dtype, got, i);
    if (a == b || (isnan(lampar_decode(dtype, a)) && isnan(lampar_decode(dtype, b)))) continue;
    return i;
  }
  return count;
}

double lampar_reference_ulp(uint32_t dtype, double value) {
  const format f = format_of(dtype);
  int exponent = f.exponent_min;
  if (fabs(value) >= ldexp(1, f.exponent_min) && !isinf(value)) exponent = ilogb(value);
  return ldexp(1, exponent - f.mantissa_bits);
}

bool lampar_reference_within(uint32_t dtype, int world, const void *const *inputs, size_t index,
                             uint32_t bits, double *exact) {
  double sum = 0, absolute_sum = 0;
  for (int rank = 0; rank < world; ++rank) {
    const double value = lampar_decode(dtype, lampar_element_load(dtype, inputs[rank], index));
    sum += value;
    absolute_sum += fabs(value);
  }
  *exact = sum;
  const double got = lampar_decode(dtype, bits);
  if (isnan(sum) || isinf(sum)) return isnan(sum) ? isnan(got) != 0 : got == sum;

  const format f = format_of(dtype);
  /* The errors of later additions are relative to sums that carry earlier ones: one part in 2^20
   * more. */
  const double additions = (world - 1) * 0x1p-24 * absolute_sum * (1 + 0x1p-20);
  if (isinf(got))
    return (got > 0) == (sum > 0) &&
           fabs(sum) + additions >= f.largest + lampar_reference_ulp(dtype, f.largest) / 2;
  return fabs(got - sum) <= lampar_reference_ulp(dtype, got) / 2 + additions;
}
