#include "verify/formats.h"

#include <math.h>

/* A small binary format without infinities. Read as an integer, the code without its
 * sign counts the values upwards from zero. */
typedef struct format {
  int mantissa_bits;
  int exponent_min;      /* of the smallest normal number */
  unsigned largest_code; /* of a finite value */
  unsigned sign;         /* its bit */
  unsigned nan;          /* what a NaN becomes: the code for it, or the largest */
} format;

static const format e4m3 = {3, -6, 0x7e, 0x80, 0x7f}, e2m1 = {1, 0, 0x7, 0x8, 0x7};

static float decode_absolute(format f, unsigned code) {
  const unsigned steps = 1u << f.mantissa_bits, exponent = code >> f.mantissa_bits;
  const unsigned fraction = code & (steps - 1);
  if (exponent == 0) return ldexpf((float)fraction, f.exponent_min - f.mantissa_bits);
  return ldexpf((float)(steps + fraction), f.exponent_min - f.mantissa_bits + (int)exponent - 1);
}

/* Of a number that is not NaN. */
static unsigned encode_absolute(format f, float value) {
  const float absolute = fabsf(value);
  if (absolute >= decode_absolute(f, f.largest_code)) return f.largest_code;
  int exponent = f.exponent_min;
  if (absolute >= ldexpf(1, f.exponent_min)) exponent = ilogbf(absolute);
  /* The number in steps of its binade, rounded to nearest even; a carry reaches the next binade. */
  const double count = nearbyint(ldexp(absolute, f.mantissa_bits - exponent));
  return ((unsigned)(exponent - f.exponent_min) << f.mantissa_bits) + (unsigned)count;
}

static float decode(format f, unsigned code) {
  const float absolute = decode_absolute(f, code & (f.sign - 1));
  return code & f.sign ? -absolute : absolute;
}

static uint8_t encode(format f, float value) {
  if (isnan(value)) return (uint8_t)f.nan;
  return (uint8_t)((signbit(value) ? f.sign : 0) | encode_absolute(f, value));
}

float lampar_e4m3_decode(uint8_t bits) {
  return (bits & 0x7f) == e4m3.nan ? NAN : decode(e4m3, bits);
}

uint8_t lampar_e4m3_encode(float value) {
  return encode(e4m3, value);
}

float lampar_e2m1_decode(uint8_t bits) {
  return decode(e2m1, bits);
}

uint8_t lampar_e2m1_encode(float value) {
  return encode(e2m1, value);
}

uint8_t lampar_e8m0_above(float value) {
  int exponent;
  if (value == 0) return 0;
  if (value > 0x1p127f) return 254;
  if (value < 0x1p-126f) return 1;
  const float fraction = frexpf(value, &exponent); /* 0.5 <= fraction < 1 */
  /* A power of two is its own bound. */
  return (uint8_t)(exponent + 127 - (fraction == 0.5f));
}

size_t lampar_layout_columns(uint64_t row, uint64_t group, uint64_t stride) {
  return (size_t)(group * stride + row);
}

size_t lampar_layout_tiles(uint64_t row, uint64_t group, uint64_t groups) {
  const uint64_t tile = row / 128 * ((groups + 3) / 4) + group / 4, outer = row % 128;
  return (size_t)(tile * 512 + outer % 32 * 16 + outer / 32 * 4 + group % 4);
}

size_t lampar_layout_tiles_bytes(uint64_t rows, uint64_t groups) {
  return (size_t)((rows + 127) / 128 * ((groups + 3) / 4) * 512);
}
