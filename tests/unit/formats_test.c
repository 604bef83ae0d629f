#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/formats.h"

/* The finite magnitudes of both formats as the standard lists them: 2^(e - bias) * 1.m, and without
 * the 1 for exponent 0. */
static double e4m3_definition(unsigned code) {
  const int exponent = (int)(code >> 3);
  const double fraction = (code & 7) / 8.0;
  return exponent == 0 ? ldexp(fraction, -6) : ldexp(1 + fraction, exponent - 7);
}

static const double e2m1_definition[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static void expect_e4m3(float value, unsigned expected) {
  const unsigned got = lampar_e4m3_encode(value);
  if (got != expected) fail_msg("e4m3 of %a: 0x%02x, expected 0x%02x", value, got, expected);
}

static void expect_e2m1(float value, unsigned expected) {
  const unsigned got = lampar_e2m1_encode(value);
  if (got != expected) fail_msg("e2m1 of %a: 0x%x, expected 0x%x", value, got, expected);
}

static void e4m3_every_byte(void **state) {
  (void)state;
  assert_true(e4m3_definition(0x7e) == 448 && e4m3_definition(0x08) == 0x1p-6 &&
              e4m3_definition(0x01) == 0x1p-9);
  for (unsigned bits = 0; bits < 256; ++bits) {
    const float value = lampar_e4m3_decode((uint8_t)bits);
    if ((bits & 0x7f) == 0x7f) {
      assert_true(isnan(value));
      expect_e4m3(value, 0x7f);
      continue;
    }
    const double magnitude = e4m3_definition(bits & 0x7f);
    assert_true((double)value == (bits & 0x80 ? -magnitude : magnitude));
    assert_true(!signbit(value) == !(bits & 0x80));
    expect_e4m3(value, bits);
  }
}

static void e2m1_every_code(void **state) {
  (void)state;
  for (unsigned bits = 0; bits < 16; ++bits) {
    const float value = lampar_e2m1_decode((uint8_t)bits);
    const double magnitude = e2m1_definition[bits & 7];
    assert_true((double)value == (bits & 8 ? -magnitude : magnitude));
    expect_e2m1(value, bits);
  }
}

/* Half way between two neighbours the even code is taken; a little to either side, the nearer one.
 */
static void every_tie(void **state) {
  (void)state;
  for (unsigned code = 0; code < 0x7e; ++code) {
    const float middle = (float)((e4m3_definition(code) + e4m3_definition(code + 1)) / 2);
    expect_e4m3(middle, code + code % 2);
    expect_e4m3(-middle, 0x80 | (code + code % 2));
    expect_e4m3(nextafterf(middle, 0), code);
    expect_e4m3(nextafterf(middle, INFINITY), code + 1);
  }
  for (unsigned code = 0; code < 7; ++code) {
    const float middle = (float)((e2m1_definition[code] + e2m1_definition[code + 1]) / 2);
    expect_e2m1(middle, code + code % 2);
    expect_e2m1(-middle, 8 | (code + code % 2));
    expect_e2m1(nextafterf(middle, 0), code);
    expect_e2m1(nextafterf(middle, INFINITY), code + 1);
  }
}

static void ends_of_the_range(void **state) {
  (void)state;
  const float beyond[] = {464, nextafterf(464, INFINITY), 480, 1e30f, 0x1.fffffep127f, INFINITY};
  for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; ++i) {
    expect_e4m3(beyond[i], 0x7e);
    expect_e4m3(-beyond[i], 0xfe);
    expect_e2m1(beyond[i], 0x7);
    expect_e2m1(-beyond[i], 0xf);
  }
  const float tiny[] = {0, 0x1p-149f, 0x1p-126f, 0x1p-10f};
  for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; ++i) {
    expect_e4m3(tiny[i], 0x00);
    expect_e4m3(-tiny[i], 0x80);
    expect_e2m1(tiny[i], 0x0);
    expect_e2m1(-tiny[i], 0x8);
  }
  expect_e4m3(-NAN, 0x7f);
  expect_e2m1(-NAN, 0x7);
}

static void e8m0_bounds(void **state) {
  (void)state;
  assert_int_equal(lampar_e8m0_above(0), 0);
  assert_int_equal(lampar_e8m0_above(1), 127);
  assert_int_equal(lampar_e8m0_above(INFINITY), 254);
  assert_int_equal(lampar_e8m0_above(0x1p-149f), 1);
  for (int bits = 1; bits < 255; ++bits) {
    const float power = ldexpf(1, bits - 127);
    assert_int_equal(lampar_e8m0_above(power), bits);
    assert_int_equal(lampar_e8m0_above(nextafterf(power, INFINITY)), bits < 254 ? bits + 1 : 254);
    if (bits > 1) assert_int_equal(lampar_e8m0_above(nextafterf(power, 0)), bits);
  }
}

/* Every place of the tiles is the place of one scale, or of padding. */
static void tiles_are_a_bijection(void **state) {
  (void)state;
  const struct {
    uint64_t rows, groups;
  } shapes[] = {{1, 1}, {128, 4}, {129, 5}, {300, 17}, {256, 448}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
    const uint64_t rows = (shapes[s].rows + 127) / 128 * 128,
                   groups = (shapes[s].groups + 3) / 4 * 4;
    const size_t bytes = lampar_layout_tiles_bytes(shapes[s].rows, shapes[s].groups);
    assert_int_equal(bytes, rows * groups);
    char *taken = calloc(bytes, 1);
    assert_non_null(taken);
    for (uint64_t row = 0; row < rows; ++row)
      for (uint64_t group = 0; group < groups; ++group) {
        const size_t at = lampar_layout_tiles(row, group, shapes[s].groups);
        assert_true(at < bytes && !taken[at]);
        taken[at] = 1;
      }
    free(taken);
  }
}

/* Some places of cuBLAS's figure: rows 0, 32, 64 and 96 share the first 16 bytes. */
static void tiles_as_documented(void **state) {
  (void)state;
  assert_int_equal(lampar_layout_tiles(0, 3, 8), 3);
  assert_int_equal(lampar_layout_tiles(32, 0, 8), 4);
  assert_int_equal(lampar_layout_tiles(96, 3, 8), 15);
  assert_int_equal(lampar_layout_tiles(1, 0, 8), 16);
  assert_int_equal(lampar_layout_tiles(31, 0, 8), 496);
  assert_int_equal(lampar_layout_tiles(0, 4, 8), 512);
  assert_int_equal(lampar_layout_tiles(128, 0, 8), 1024);
}

static void columns(void **state) {
  (void)state;
  assert_int_equal(lampar_layout_columns(3, 0, 8), 3);
  assert_int_equal(lampar_layout_columns(3, 2, 8), 19);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(e4m3_every_byte),     cmocka_unit_test(e2m1_every_code),
      cmocka_unit_test(every_tie),           cmocka_unit_test(ends_of_the_range),
      cmocka_unit_test(e8m0_bounds),         cmocka_unit_test(tiles_are_a_bijection),
      cmocka_unit_test(tiles_as_documented), cmocka_unit_test(columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
