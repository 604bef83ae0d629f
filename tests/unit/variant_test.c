#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/variant.h"

static void names_say_the_key(void **state) {
  (void)state;
  char name[LAMPAR_NAME_BYTES];
  lampar_variant v = {.arch = 90,
                      .algorithm = LAMPAR_ONESHOT,
                      .world = 8,
                      .dtype = LAMPAR_BF16,
                      .hidden = 7168,
                      .max_rows = 73,
                      .max_bytes = 73 * 14336};
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w8_bf16_h7168_sm_90_r73");
  v.persistent = 1;
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w8_bf16_h7168_sm_90");
  snprintf(v.epilogue, sizeof v.epilogue, "residual+rmsnorm.weight_f32");
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w8_residual_rmsnorm_weight_f32_bf16_h7168_sm_90");
  v.algorithm = LAMPAR_TWOSHOT;
  v.persistent = 0;
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_twoshot_w8_residual_rmsnorm_weight_f32_bf16_h7168_sm_90_r73");
  v.algorithm = LAMPAR_EPILOGUE_ONLY;
  v.rounding = LAMPAR_ROUNDING_FP32;
  v.persistent = 1;
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ep_residual_rmsnorm_weight_f32_fp32_bf16_h7168_sm_90");
  v = (lampar_variant){.arch = LAMPAR_ARCH_EMU,
                       .algorithm = LAMPAR_ONESHOT,
                       .world = 16,
                       .dtype = LAMPAR_F32,
                       .max_bytes = 1ull << 40};
  lampar_variant_name(&v, name);
  assert_string_equal(name, "ar_oneshot_w16_f32_flat_emu_b1099511627776");
}

static void mailboxes_of_rows_and_of_bytes(void **state) {
  (void)state;
  lampar_variant row = {.algorithm = LAMPAR_ONESHOT,
                        .dtype = LAMPAR_BF16,
                        .hidden = 2880,
                        .max_rows = 10,
                        .max_bytes = 57600};
  assert_int_equal(lampar_variant_mailboxes(&row, 1, 2880), 12);
  assert_int_equal(lampar_variant_max_mailboxes(&row), 120);
  /* Two-shot: to the owner and back. */
  row.algorithm = LAMPAR_TWOSHOT;
  assert_int_equal(lampar_variant_mailboxes(&row, 1, 2880), 12);
  assert_int_equal(lampar_variant_max_mailboxes(&row), 120);
  assert_int_equal(lampar_variant_row_mailboxes(&row), 12);
  row.algorithm = LAMPAR_EPILOGUE_ONLY;
  assert_int_equal(lampar_variant_mailboxes(&row, 1, 2880), 0);
  const lampar_variant flat = {.algorithm = LAMPAR_ONESHOT, .dtype = LAMPAR_F32, .max_bytes = 4096};
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 1), 1);
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 128), 1);
  assert_int_equal(lampar_variant_mailboxes(&flat, 1, 129), 2);
  assert_int_equal(lampar_variant_mailboxes(&flat, 3, 100), 3);
  assert_int_equal(lampar_variant_max_mailboxes(&flat), 8);
  /* Two halves of 512 bytes from each source, and an epoch. */
  assert_int_equal(lampar_workspace_bytes(28, 2), 28 * (2 * 2 * 512 + 4));
}

static void order_is_key_then_limit(void **state) {
  (void)state;
#define KEY .arch = 90, .world = 4, .dtype = LAMPAR_BF16
  const lampar_variant sorted[] = {
      {.arch = 80, .world = 8},
      {.arch = 90, .world = 2, .dtype = LAMPAR_F16},
      {KEY, .hidden = 0},
      {KEY, .hidden = 64, .max_bytes = 128, .algorithm = LAMPAR_ONESHOT},
      {KEY, .hidden = 64, .max_bytes = 256, .algorithm = LAMPAR_ONESHOT},
      {KEY, .hidden = 64, .max_bytes = 256, .algorithm = LAMPAR_ONESHOT, .persistent = 1},
      {KEY, .hidden = 64, .max_bytes = 512, .algorithm = LAMPAR_TWOSHOT},
      {KEY, .epilogue = "bias", .hidden = 64, .max_bytes = 64},
      {KEY, .epilogue = "bias", .hidden = 128, .max_bytes = 128},
      {KEY, .epilogue = "bias", .rounding = LAMPAR_ROUNDING_FP32, .hidden = 64, .max_bytes = 64},
      {KEY, .epilogue = "residual", .hidden = 64, .max_bytes = 64},
  };
  const size_t count = sizeof sorted / sizeof sorted[0];
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      const int order = lampar_variant_compare(&sorted[i], &sorted[j]);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
}

/* A value of one field that no plan makes. */
#define WRONG(field, value)                                                                        \
  do {                                                                                             \
    lampar_variant wrong = good;                                                                   \
    wrong.field = value;                                                                           \
    assert_false(lampar_variant_is_valid(&wrong));                                                 \
  } while (0)

static void plain_ones_are_checked(void **state) {
  (void)state;
  const lampar_variant good = {.arch = 90,
                               .algorithm = LAMPAR_TWOSHOT,
                               .world = 4,
                               .dtype = LAMPAR_F16,
                               .hidden = 64,
                               .max_rows = 2,
                               .max_bytes = 256,
                               .threads = 128,
                               .cluster = 1,
                               .vectors_per_warp = 1};
  assert_true(lampar_variant_is_valid(&good));
  WRONG(arch, 91);
  WRONG(algorithm, 3);
  WRONG(algorithm, LAMPAR_EPILOGUE_ONLY);
  WRONG(world, 2); /* of two-shot */
  WRONG(world, 17);
  WRONG(dtype, LAMPAR_I8);
  WRONG(hidden, 60);
  WRONG(hidden, 0); /* with a limit of rows */
  WRONG(max_rows, 0);
  WRONG(max_rows, UINT32_MAX);
  WRONG(max_bytes, 0);
  WRONG(persistent, 2);
  WRONG(rounding, LAMPAR_ROUNDING_FP32);
  WRONG(threads, 48);
  WRONG(threads, 1056);
  WRONG(cluster, 2);
  WRONG(vectors_per_warp, 2);
  WRONG(trigger, 3);
  WRONG(operand_count, 1);
}

static void fused_ones_are_checked(void **state) {
  (void)state;
  lampar_variant good = {.arch = 90,
                         .algorithm = LAMPAR_ONESHOT,
                         .world = 2,
                         .dtype = LAMPAR_BF16,
                         .hidden = 7168,
                         .max_rows = 2,
                         .max_bytes = 28672,
                         .threads = 128,
                         .cluster = 7,
                         .vectors_per_warp = 1,
                         .operand_count = 2,
                         .epilogue = "residual+rmsnorm.offset_1",
                         .operands = {{.name = "residual", .dtype = LAMPAR_BF16},
                                      {.name = "scale",
                                       .dtype = LAMPAR_F32,
                                       .output = 1,
                                       .granularity = LAMPAR_GRANULARITY_GROUP,
                                       .group = 128}}};
  assert_true(lampar_variant_is_valid(&good));
  WRONG(cluster, 0);
  WRONG(cluster, 6);  /* does not divide the row's 28 vectors */
  WRONG(cluster, 4);  /* 4 x 4 warps are too few for them */
  WRONG(cluster, 14); /* more than can be launched */
  WRONG(arch, 89);    /* without clusters */
  WRONG(vectors_per_warp, 0);
  WRONG(threads, 96);
  WRONG(operand_count, LAMPAR_OPERANDS_MAX + 1);
  WRONG(operands[0].name[0], 'R');
  WRONG(operands[0].name[0], '\0');
  WRONG(operands[0].dtype, 100);
  WRONG(operands[0].granularity, 6);
  WRONG(operands[0].granularity, LAMPAR_GRANULARITY_CALL); /* which is f32 */
  WRONG(operands[0].output, 2);
  WRONG(operands[0].group, 1);
  WRONG(operands[1].group, 0);
  WRONG(operands[1], good.operands[0]);
  WRONG(epilogue[0], '-');
  WRONG(epilogue[0], '\0'); /* plain, with a cluster */
  WRONG(hidden, 0);
  lampar_variant other = good;
  memset(other.epilogue, 'a', sizeof other.epilogue);
  assert_false(lampar_variant_is_valid(&other));
  other = good;
  memset(other.operands[0].name, 'a', sizeof other.operands[0].name);
  assert_false(lampar_variant_is_valid(&other));

  /* Other geometries are as good, as long as they hold the row. */
  other = good;
  other.cluster = 4;
  other.vectors_per_warp = 2;
  assert_true(lampar_variant_is_valid(&other));
  other = (good.cluster = 1, good.threads = 896, good);
  assert_true(lampar_variant_is_valid(&other));
  other.arch = 80;
  assert_true(lampar_variant_is_valid(&other));
  other.algorithm = LAMPAR_EPILOGUE_ONLY;
  assert_false(lampar_variant_is_valid(&other));
  other.world = 1;
  assert_true(lampar_variant_is_valid(&other));
  other.world = 3;
  other.algorithm = LAMPAR_TWOSHOT;
  assert_true(lampar_variant_is_valid(&other));
  other.rounding = LAMPAR_ROUNDING_FP32;
  assert_false(lampar_variant_is_valid(&other));
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
      cmocka_unit_test(names_say_the_key),       cmocka_unit_test(mailboxes_of_rows_and_of_bytes),
      cmocka_unit_test(order_is_key_then_limit), cmocka_unit_test(plain_ones_are_checked),
      cmocka_unit_test(fused_ones_are_checked),  cmocka_unit_test(dtypes_and_archs_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
