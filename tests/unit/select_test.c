#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pack/select.h"

/* As a group holds them: one arch, one world, sorted. */
static const lampar_variant kernels[] = {
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 4,
     .dtype = LAMPAR_BF16,
     .max_bytes = 1 << 16},
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 4,
     .dtype = LAMPAR_BF16,
     .max_bytes = 1 << 20,
     .persistent = 1},
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 4,
     .dtype = LAMPAR_BF16,
     .hidden = 2880,
     .max_rows = 8,
     .max_bytes = 8 * 5760},
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 4,
     .dtype = LAMPAR_BF16,
     .hidden = 2880,
     .max_rows = 256,
     .max_bytes = 256 * 5760,
     .persistent = 1},
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 4,
     .dtype = LAMPAR_F32,
     .hidden = 4096,
     .max_rows = 64,
     .max_bytes = 64 * 16384,
     .persistent = 1},
};
enum { COUNT = sizeof kernels / sizeof kernels[0] };
static const lampar_variant *const list[] = {&kernels[0], &kernels[1], &kernels[2], &kernels[3],
                                             &kernels[4]};
static const lampar_candidates all = {.variants = list, .count = COUNT, .mailboxes = 1 << 16};

static lampar_selection ask(const lampar_candidates *candidates, lampar_dtype dtype, uint64_t rows,
                            uint64_t hidden) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.dtype = dtype;
  call.rows = rows;
  call.hidden = hidden;
  return lampar_select(candidates, &call);
}

static void takes_the_smallest_limit_that_fits(void **state) {
  (void)state;
  assert_int_equal(ask(&all, LAMPAR_BF16, 1, 2880).index, 2);
  assert_int_equal(ask(&all, LAMPAR_BF16, 8, 2880).index, 2);
  assert_int_equal(ask(&all, LAMPAR_BF16, 9, 2880).index, 3);
  assert_int_equal(ask(&all, LAMPAR_BF16, 256, 2880).index, 3);
  assert_int_equal(ask(&all, LAMPAR_BF16, 256, 2880).reason, LAMPAR_REASON_NONE);
}

static void other_hidden_sizes_are_flat(void **state) {
  (void)state;
  assert_int_equal(ask(&all, LAMPAR_BF16, 1, 1).index, 0);
  assert_int_equal(ask(&all, LAMPAR_BF16, 1, 1 << 15).index, 0);
  assert_int_equal(ask(&all, LAMPAR_BF16, 1, (1 << 15) + 1).index, 1);
  assert_int_equal(ask(&all, LAMPAR_BF16, 3, 4096).index, 0);
}

static void says_why_not(void **state) {
  (void)state;
  assert_int_equal(ask(&all, LAMPAR_BF16, 257, 2880).reason, LAMPAR_REASON_ROWS);
  assert_int_equal(ask(&all, LAMPAR_BF16, 1, (1 << 19) + 1).reason, LAMPAR_REASON_BYTES);
  assert_int_equal(ask(&all, LAMPAR_F16, 1, 2880).reason, LAMPAR_REASON_DTYPE);
  assert_int_equal(ask(&all, LAMPAR_F64, 1, 8).reason, LAMPAR_REASON_DTYPE);
  assert_int_equal(ask(&all, LAMPAR_F32, 1, 4000).reason, LAMPAR_REASON_HIDDEN);
  assert_int_equal(ask(&all, LAMPAR_F32, 65, 4096).reason, LAMPAR_REASON_ROWS);
  lampar_call call = LAMPAR_CALL_INIT;
  call.hidden = 2880;
  call.op = LAMPAR_MAX;
  assert_int_equal(lampar_select(&all, &call).reason, LAMPAR_REASON_OP);
}

/* Rows have mailboxes of their own: 2880 bf16 fill 11.25 and take 12. */
static void stays_within_the_workspace(void **state) {
  (void)state;
  lampar_candidates small = all;
  small.mailboxes = 24;
  assert_int_equal(ask(&small, LAMPAR_BF16, 2, 2880).index, 2);
  /* Three rows fill 34 mailboxes even as a flat message. */
  assert_int_equal(ask(&small, LAMPAR_BF16, 3, 2880).reason, LAMPAR_REASON_ROWS);
  small.mailboxes = 34;
  assert_int_equal(ask(&small, LAMPAR_BF16, 3, 2880).index, 0);
  assert_int_equal(ask(&small, LAMPAR_BF16, 1, 34 * 256 + 1).reason, LAMPAR_REASON_BYTES);
}

static void finds_the_persistent_kernel_of_a_key(void **state) {
  (void)state;
  assert_int_equal(lampar_select_persistent(&all, 0), 1);
  assert_int_equal(lampar_select_persistent(&all, 2), 3);
  assert_int_equal(lampar_select_persistent(&all, 3), 3);
  const lampar_candidates single_pass_only = {.variants = list, .count = 1, .mailboxes = 1 << 16};
  assert_true(lampar_select_persistent(&single_pass_only, 0) == SIZE_MAX);
}

static void has_nothing_without_kernels(void **state) {
  (void)state;
  const lampar_candidates none = {.variants = list, .count = 0, .mailboxes = 1 << 16};
  assert_int_equal(ask(&none, LAMPAR_BF16, 1, 2880).reason, LAMPAR_REASON_DTYPE);
}

/* Two packs of one key, for any address and for aligned ones. */
static void a_substitute_takes_every_address_of_the_first_choice(void **state) {
  (void)state;
  lampar_variant any = kernels[0], aligned = any, any_persistent = kernels[1];
  aligned.alignment = 16;
  lampar_variant aligned_persistent = any_persistent;
  aligned_persistent.alignment = 16;
  const lampar_variant *const both[] = {&any, &aligned, &any_persistent, &aligned_persistent};
  for (size_t i = 1; i < 4; ++i) assert_true(lampar_variant_compare(both[i - 1], both[i]) < 0);
  const lampar_candidates mixed = {.variants = both, .count = 4, .mailboxes = 1 << 16};
  assert_int_equal(ask(&mixed, LAMPAR_BF16, 1, 64).index, 0);
  assert_int_equal(lampar_select_persistent(&mixed, 0), 2);
  assert_int_equal(lampar_select_persistent(&mixed, 1), 2);
  const lampar_variant *const odd[] = {&any, &aligned_persistent};
  const lampar_candidates lacking = {.variants = odd, .count = 2, .mailboxes = 1 << 16};
  assert_true(lampar_select_persistent(&lacking, 0) == SIZE_MAX);
  const lampar_variant *const whole[] = {&aligned, &aligned_persistent};
  const lampar_candidates strict = {.variants = whole, .count = 2, .mailboxes = 1 << 16};
  assert_int_equal(lampar_select_persistent(&strict, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_substitute_takes_every_address_of_the_first_choice),
      cmocka_unit_test(takes_the_smallest_limit_that_fits),
      cmocka_unit_test(other_hidden_sizes_are_flat),
      cmocka_unit_test(says_why_not),
      cmocka_unit_test(stays_within_the_workspace),
      cmocka_unit_test(finds_the_persistent_kernel_of_a_key),
      cmocka_unit_test(has_nothing_without_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
