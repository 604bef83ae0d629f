#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "variant.h"

static void names_say_the_key(void **state) {
  (void)state;
  char name[LAMPAR_NAME_BYTES];
  lampar_variant v = {.arch = 90, .world = 8, .dtype = LAMPAR_BF16, .hidden = 7168, .rows_limit = 73,
                      .bytes_limit = 73 * 14336};
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w8_bf16_h7168_sm_90_r73");
  v.looping = 1;
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w8_bf16_h7168_sm_90");
  v = (lampar_variant){.arch = LAMPAR_ARCH_EMU, .world = 16, .dtype = LAMPAR_F32,
                       .bytes_limit = 1ull << 40};
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w16_f32_flat_emu_b1099511627776");
}

static void mailboxes_of_rows_and_of_bytes(void **state) {
  (void)state;
  const lampar_variant row = {.dtype = LAMPAR_BF16, .hidden = 2880, .rows_limit = 10,
                              .bytes_limit = 57600};
  assert_int_equal(lampar_variant_mailboxes(&row, 1, 2880), 12);
  assert_int_equal(lampar_variant_mailboxes_limit(&row), 120);
  const lampar_variant flat = {.dtype = LAMPAR_F32, .bytes_limit = 4096};
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 1), 1);
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 128), 1);
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 129), 2);
  assert_int_equal(lampar_variant_mailboxes(&flat, 3, 100), 3);
  assert_int_equal(lampar_variant_mailboxes_limit(&flat), 8);
  /* Two halves of 512 bytes from each source, and an epoch. */
  assert_int_equal(lampar_workspace_bytes(28, 2), 28 * (2 * 2 * 512 + 4));
}

static void order_is_key_then_limit(void **state) {
  (void)state;
  const lampar_variant sorted[] = {
      {.arch = 80, .world = 8},
      {.arch = 90, .world = 2, .dtype = LAMPAR_F16},
      {.arch = 90, .world = 4, .dtype = LAMPAR_BF16, .hidden = 0},
      {.arch = 90, .world = 4, .dtype = LAMPAR_BF16, .hidden = 64, .bytes_limit = 128},
      {.arch = 90, .world = 4, .dtype = LAMPAR_BF16, .hidden = 64, .bytes_limit = 256},
      {.arch = 90, .world = 4, .dtype = LAMPAR_BF16, .hidden = 64, .bytes_limit = 256, .looping = 1},
  };
  const size_t count = sizeof sorted / sizeof sorted[0];
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      const int order = lampar_variant_compare(&sorted[i], &sorted[j]);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
}

static void dtypes_and_archs_have_names(void **state) {
  (void)state;
  for (uint32_t dtype = 0; lampar_dtype_name(dtype) != NULL; ++dtype) {
    uint32_t parsed;
    assert_true(lampar_dtype_parse(lampar_dtype_name(dtype), &parsed));
    assert_int_equal(parsed, dtype);
    assert_true(lampar_dtype_bytes(dtype) > 0);
  }
  assert_int_equal(lampar_dtype_bytes(1000), 0);
  assert_false(lampar_dtype_has_kernels(LAMPAR_F64));
  for (size_t i = 0; lampar_archs[i] != 0; ++i) {
    uint32_t parsed;
    assert_true(lampar_arch_parse(lampar_arch_name(lampar_archs[i]), &parsed));
    assert_int_equal(parsed, lampar_archs[i]);
    assert_true(i == 0 || lampar_archs[i - 1] < lampar_archs[i]);
  }
  uint32_t arch;
  assert_false(lampar_arch_parse("sm_91", &arch));
  assert_null(lampar_arch_name(91));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_say_the_key),
      cmocka_unit_test(mailboxes_of_rows_and_of_bytes),
      cmocka_unit_test(order_is_key_then_limit),
      cmocka_unit_test(dtypes_and_archs_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
