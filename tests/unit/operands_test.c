/* The operands of a call against those that a kernel declares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "pack/operands.h"

enum { HIDDEN = 64 };

static const lampar_variant variant = {
    .arch = 90,
    .algorithm = LAMPAR_ONESHOT,
    .world = 2,
    .dtype = LAMPAR_BF16,
    .hidden = HIDDEN,
    .max_rows = 4,
    .max_bytes = 4 * HIDDEN * 2,
    .threads = 32,
    .cluster = 1,
    .vectors_per_warp = 1,
    .epilogue = "residual+scaled",
    .operand_count = 2,
    .operands = {{.name = "residual", .dtype = LAMPAR_BF16},
                 {.name = "scale", .dtype = LAMPAR_F32, .granularity = LAMPAR_GRANULARITY_CALL}},
};

static _Alignas(16) uint16_t residual[4 * HIDDEN];

/* Fields that a later header appends. */
typedef struct longer_operand {
  lampar_operand known;
  uint64_t later;
} longer_operand;

typedef struct filled {
  uint64_t tail[4];
  uint32_t is_vectorized;
} filled;

static lampar_status fill(const lampar_call *call, filled *result) {
  *result = (filled){.is_vectorized = 1};
  return lampar_operands_fill_from_call(&variant, call, result->tail, &result->is_vectorized);
}

static lampar_call call_of(const void *operands, uint32_t count) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.operands = operands;
  call.operand_count = count;
  return call;
}

static void check_filled(const filled *result) {
  const float scale = 0.5f;
  assert_int_equal(result->tail[0], (uintptr_t)residual);
  assert_int_equal(result->tail[1], HIDDEN);
  assert_memory_equal(&result->tail[2], &scale, sizeof scale);
  assert_int_equal(result->is_vectorized, 1);
}

static void operands_come_in_any_order(void **state) {
  (void)state;
  const lampar_operand given[] = {{.name = "scale", .dtype = LAMPAR_F32, .value = 0.5f},
                                  {.name = "residual", .data = residual, .dtype = LAMPAR_BF16}};
  const lampar_call call = call_of(given, 2);
  filled result;
  assert_int_equal(fill(&call, &result), LAMPAR_OK);
  check_filled(&result);
}

static void a_newer_caller_has_longer_operands(void **state) {
  (void)state;
  longer_operand given[] = {
      {.known = {.name = "scale", .dtype = LAMPAR_F32, .value = 0.5f}},
      {.known = {.name = "residual", .data = residual, .dtype = LAMPAR_BF16}}};
  lampar_call call = call_of(given, 2);
  call.operand_size = sizeof given[0];
  filled result;
  assert_int_equal(fill(&call, &result), LAMPAR_OK);
  check_filled(&result);
  given[1].later = 1;
  assert_int_equal(fill(&call, &result), LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "call.operands[1] uses fields that lampar"));
}

static void a_size_that_is_not_set_is_refused(void **state) {
  (void)state;
  const lampar_operand given[] = {{.name = "scale"}, {.name = "residual"}};
  lampar_call call = call_of(given, 2);
  const size_t wrong[] = {0, sizeof *given - 1, sizeof *given + 1};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    filled result;
    call.operand_size = wrong[i];
    assert_int_equal(fill(&call, &result), LAMPAR_ERROR_ARGUMENT);
    assert_non_null(strstr(lampar_last_error(), "start from LAMPAR_CALL_INIT"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operands_come_in_any_order),
      cmocka_unit_test(a_newer_caller_has_longer_operands),
      cmocka_unit_test(a_size_that_is_not_set_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
