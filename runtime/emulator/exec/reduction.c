#include "emulator/exec/reduction.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE, OP_COUNT };
enum { I8, U8, I32, U32, I64, U64, F16, F32, F64, BF16, F8E4M3, F8E5M2, DTYPE_COUNT };

static const uint8_t bytes[DTYPE_COUNT] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

size_t reduction_bytes(int dtype) {
  return dtype >= 0 && dtype < DTYPE_COUNT ? bytes[dtype] : 0;
}

bool reduction_is_op(int op) {
  return op >= 0 && op < OP_COUNT;
}

/* A small float: sign, exponent, mantissa from the top of its bits. */
typedef struct emu_format {
  int exponent_bits, mantissa_bits;
  bool has_infinity; /* e4m3 has none: all but its highest code are numbers */
} emu_format;

static emu_format format_of(int dtype) {
  switch (dtype) {
  case F16: return (emu_format){5, 10, true};
  case BF16: return (emu_format){8, 7, true};
  case F8E5M2: return (emu_format){5, 2, true};
  default: return (emu_format){4, 3, false};
  }
}

static double decode(uint32_t bits, emu_format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent = bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1);
  const bool is_negative = bits >> (format.mantissa_bits + format.exponent_bits) & 1;
  const uint32_t top = (1u << format.exponent_bits) - 1;
  double value;
  if (exponent == top && format.has_infinity) value = mantissa ? NAN : INFINITY;
  else if (exponent == top && mantissa == (1u << format.mantissa_bits) - 1) value = NAN;
  else if (exponent == 0) value = ldexp(mantissa, 1 - bias - format.mantissa_bits);
  else
    value =
        ldexp(mantissa + (1u << format.mantissa_bits), (int)exponent - bias - format.mantissa_bits);
  return is_negative ? -value : value;
}

/* To nearest even; e4m3 saturates, the others overflow to infinity. */
static uint32_t encode(double value, emu_format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  const uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint32_t sign = signbit(value) ? all + 1 : 0;
  if (isnan(value)) return all; /* what GPUs make of every NaN */
  value = fabs(value);
  if (value == 0) return sign;
  int exponent;
  frexp(value, &exponent);
  exponent -= 1;
  if (exponent < 1 - bias) exponent = 1 - bias;
  /* nearbyint rounds to even; a carry into the exponent comes out right in the sum. */
  const double scaled =
      isinf(value) ? INFINITY : nearbyint(ldexp(value, format.mantissa_bits - exponent));
  const double code = scaled + ldexp((double)(exponent + bias - 1), format.mantissa_bits);
  const uint32_t limit = format.has_infinity ? infinity : all - 1;
  return sign | (code >= limit ? limit : (uint32_t)code);
}

static double load(const void *from, size_t i, int dtype) {
  const char *at = (const char *)from + i * bytes[dtype];
  float f32;
  double f64;
  uint16_t half;
  switch (dtype) {
  case F32: memcpy(&f32, at, sizeof f32); return (double)f32;
  case F64: memcpy(&f64, at, sizeof f64); return f64;
  case F16:
  case BF16: memcpy(&half, at, sizeof half); return decode(half, format_of(dtype));
  default: return decode(*(const uint8_t *)at, format_of(dtype));
  }
}

static void store(void *to, size_t i, int dtype, double value) {
  char *at = (char *)to + i * bytes[dtype];
  const float f32 = (float)value;
  uint16_t half;
  switch (dtype) {
  case F32: memcpy(at, &f32, sizeof f32); break;
  case F64: memcpy(at, &value, sizeof value); break;
  case F16:
  case BF16:
    half = (uint16_t)encode(value, format_of(dtype));
    memcpy(at, &half, sizeof half);
    break;
  default: *(uint8_t *)at = (uint8_t)encode(value, format_of(dtype)); break;
  }
}

static double combine(double a, double b, int op) {
  switch (op) {
  case PRODUCT: return a * b;
  case MAXIMUM: return isnan(a) || isnan(b) ? NAN : fmax(a, b);
  case MINIMUM: return isnan(a) || isnan(b) ? NAN : fmin(a, b);
  default: return a + b;
  }
}

static void reduce_floats(void *output, const void *const *inputs, int input_count, size_t i,
                          int dtype, int op) {
  double value = load(inputs[0], i, dtype);
  for (int k = 1; k < input_count; ++k) {
    value = combine(value, load(inputs[k], i, dtype), op);
    if (dtype != F64) value = (double)(float)value;
  }
  if (op == AVERAGE) value /= input_count;
  store(output, i, dtype, value);
}

static uint64_t load_integer(const void *from, size_t i, int dtype) {
  const char *at = (const char *)from + i * bytes[dtype];
  uint64_t value = 0;
  memcpy(&value, at, bytes[dtype]);
  const int unused = 64 - 8 * bytes[dtype];
  const bool is_signed = dtype == I8 || dtype == I32 || dtype == I64;
  return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static uint64_t combine_integers(uint64_t a, uint64_t b, int dtype, int op) {
  const bool is_signed = dtype == I8 || dtype == I32 || dtype == I64;
  const bool is_less = is_signed ? (int64_t)a < (int64_t)b : a < b;
  switch (op) {
  case PRODUCT: return a * b;
  case MAXIMUM: return is_less ? b : a;
  case MINIMUM: return is_less ? a : b;
  default: return a + b;
  }
}

static void reduce_integers(void *output, const void *const *inputs, int input_count, size_t i,
                            int dtype, int op) {
  uint64_t value = load_integer(inputs[0], i, dtype);
  for (int k = 1; k < input_count; ++k)
    value = combine_integers(value, load_integer(inputs[k], i, dtype), dtype, op);
  if (op == AVERAGE) {
    const bool is_signed = dtype == I8 || dtype == I32 || dtype == I64;
    value = is_signed ? (uint64_t)((int64_t)value / input_count) : value / (uint64_t)input_count;
  }
  memcpy((char *)output + i * bytes[dtype], &value, bytes[dtype]);
}

void reduction_run(void *output, const void *const *inputs, int input_count, size_t count,
                   int dtype, int op) {
  const bool is_integer = dtype <= U64;
  for (size_t i = 0; i < count; ++i)
    if (is_integer) reduce_integers(output, inputs, input_count, i, dtype, op);
    else reduce_floats(output, inputs, input_count, i, dtype, op);
}
