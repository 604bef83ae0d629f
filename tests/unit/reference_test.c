#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "pack/dtype.h"
#include "verify/reference.h"

static void expect_encoding(uint32_t dtype, float value, uint32_t bits) {
  const uint32_t got = lampar_encode(dtype, value);
  if (got != bits)
    fail_msg("%s of %a: 0x%x, expected 0x%x", lampar_dtype_name(dtype), value, got, bits);
}

/* The value by the definition of a binary format, with library functions that the code does not
 * use. */
static double definition(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double fraction = ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
  const double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * ldexp(fraction, 1 - bias);
  return sign * ldexp(1 + fraction, exponent - bias);
}

static void every_pattern_of_16_bits(void **state) {
  (void)state;
  const struct {
    uint32_t dtype;
    int exponent_bits, mantissa_bits;
  } formats[] = {{LAMPAR_BF16, 8, 7}, {LAMPAR_F16, 5, 10}};
  for (size_t f = 0; f < 2; ++f)
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const double value = definition(bits, formats[f].exponent_bits, formats[f].mantissa_bits);
      const float got = lampar_decode(formats[f].dtype, bits);
      if (isnan(value)) {
        assert_true(isnan(got));
        expect_encoding(formats[f].dtype, got, 0x7fff);
        continue;
      }
      if ((double)got != value || !signbit(got) != !signbit(value))
        fail_msg("0x%04x: %a, expected %a", bits, got, value);
      expect_encoding(formats[f].dtype, got, bits);
    }
}

/* Half way between two neighbours the even one is taken; a little to either side, the nearer one.
 */
static void every_tie_of_16_bits(void **state) {
  (void)state;
  const struct {
    uint32_t dtype, infinity;
  } formats[] = {{LAMPAR_BF16, 0x7f80}, {LAMPAR_F16, 0x7c00}};
  for (size_t f = 0; f < 2; ++f)
    for (uint32_t bits = 0; bits + 1 < formats[f].infinity; ++bits) {
      const uint32_t dtype = formats[f].dtype, even = bits % 2 == 0 ? bits : bits + 1;
      const float low = lampar_decode(dtype, bits), high = lampar_decode(dtype, bits + 1);
      const float middle = (float)(((double)low + (double)high) / 2);
      const uint32_t sign = 0x8000;
      expect_encoding(dtype, middle, even);
      expect_encoding(dtype, nextafterf(middle, low), bits);
      expect_encoding(dtype, nextafterf(middle, high), bits + 1);
      expect_encoding(dtype, -middle, sign | even);
    }
}

static void edges(void **state) {
  (void)state;
  expect_encoding(LAMPAR_BF16, -0.0f, 0x8000);
  expect_encoding(LAMPAR_F16, -0.0f, 0x8000);
  expect_encoding(LAMPAR_F32, -0.0f, 0x80000000);
  expect_encoding(LAMPAR_F16, 65504.0f, 0x7bff);
  expect_encoding(LAMPAR_F16, 65519.996f, 0x7bff);
  expect_encoding(LAMPAR_F16, 65520.0f, 0x7c00);
  expect_encoding(LAMPAR_F16, -1e30f, 0xfc00);
  expect_encoding(LAMPAR_F16, 0x1p-24f, 0x0001);
  expect_encoding(LAMPAR_F16, 0x1p-25f, 0x0000);
  expect_encoding(LAMPAR_F16, -0x1p-149f, 0x8000);
  expect_encoding(LAMPAR_BF16, 0x1.fffffep127f, 0x7f80);
  expect_encoding(LAMPAR_BF16, 0x1.fep127f, 0x7f7f);
  expect_encoding(LAMPAR_BF16, 0x1p-149f, 0x0000);
  expect_encoding(LAMPAR_BF16, INFINITY, 0x7f80);
  expect_encoding(LAMPAR_F16, -INFINITY, 0xfc00);
  expect_encoding(LAMPAR_F32, -NAN, 0x7fffffff);
}

static void sum_goes_by_rank(void **state) {
  (void)state;
  /* 2^24 + 1 is lost, 1 + 1 is not: the order shows. */
  const float large[] = {0x1p24f}, one[] = {1};
  const void *const large_first[] = {large, one, one}, *const large_last[] = {one, one, large};
  float sum;
  lampar_reference_sum(LAMPAR_F32, 3, large_first, 1, &sum);
  assert_true(sum == 0x1p24f);
  lampar_reference_sum(LAMPAR_F32, 3, large_last, 1, &sum);
  assert_true(sum == 0x1p24f + 2);

  /* One rounding at the end: 256 + 1 + 1 is 258 in bf16, though 257 is not there. */
  const uint16_t a[] = {0x4380}, b[] = {0x3f80};
  const void *const inputs[] = {a, b, b};
  uint16_t rounded;
  lampar_reference_sum(LAMPAR_BF16, 3, inputs, 1, &rounded);
  assert_int_equal(rounded, 0x4381);
}

static void bound_holds_and_refuses(void **state) {
  (void)state;
  double exact;
  srand(1);
  for (uint32_t dtype = LAMPAR_BF16; dtype <= LAMPAR_F32; ++dtype)
    for (int i = 0; i < 20000; ++i) {
      uint32_t words[4], sum;
      const void *inputs[4];
      for (int rank = 0; rank < 4; ++rank) {
        words[rank] = lampar_encode(dtype, ldexpf((float)(rand() % 8191 - 4095), rand() % 24 - 18));
        inputs[rank] = &words[rank];
      }
      lampar_reference_sum(dtype, 4, inputs, 1, &sum);
      if (dtype != LAMPAR_F32) sum &= 0xffff;
      assert_true(lampar_reference_within(dtype, 4, inputs, 0, sum, &exact));
      /* Three steps off is too far in 16 bits: there the additions' share is small, unless they
       * cancel. */
      if (dtype != LAMPAR_F32 && fabs(exact) > 1 && isfinite(lampar_decode(dtype, sum + 3)))
        assert_false(lampar_reference_within(dtype, 4, inputs, 0, sum + 3, &exact));
    }

  const uint32_t max = 0x7bff, one = 0x3c00;
  const void *const overflow[] = {&max, &max}, *const none[] = {&one, &one};
  assert_true(lampar_reference_within(LAMPAR_F16, 2, overflow, 0, 0x7c00, &exact));
  assert_false(lampar_reference_within(LAMPAR_F16, 2, none, 0, 0x7c00, &exact));
  assert_false(lampar_reference_within(LAMPAR_F16, 2, none, 0, 0x7fff, &exact));
  assert_false(lampar_reference_within(LAMPAR_F16, 2, none, 0, 0xfc00, &exact));
}

static void differences(void **state) {
  (void)state;
  const uint16_t a[] = {0x7fff, 0x0000, 0x3f80}, b[] = {0xffff, 0x0000, 0x3f80};
  const uint16_t c[] = {0x7fff, 0x8000, 0x3f80};
  assert_int_equal(lampar_reference_difference(LAMPAR_BF16, a, b, 3), 3);
  assert_int_equal(lampar_reference_difference(LAMPAR_BF16, a, c, 3), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pattern_of_16_bits),
      cmocka_unit_test(every_tie_of_16_bits),
      cmocka_unit_test(edges),
      cmocka_unit_test(sum_goes_by_rank),
      cmocka_unit_test(bound_holds_and_refuses),
      cmocka_unit_test(differences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
