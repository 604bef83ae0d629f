#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sized.h"
#include "lampar/lampar_jit.h"

typedef struct thing {
  size_t size;
  int a, b;
} thing;

typedef struct newer_thing {
  thing thing;
  int c;
} newer_thing;

static void older_callers_get_defaults(void **state) {
  (void)state;
  const thing given = {.size = offsetof(thing, b), .a = 5, .b = 6};
  thing taken = {.a = 1, .b = 2};
  assert_int_equal(lampar_sized_read(&taken, sizeof taken, &given, "thing"), LAMPAR_OK);
  assert_int_equal(taken.a, 5);
  assert_int_equal(taken.b, 2);
  assert_int_equal(taken.size, sizeof taken);
}

static void newer_callers_must_not_use_what_is_not_there(void **state) {
  (void)state;
  newer_thing given = {.thing = {.size = sizeof given, .a = 5, .b = 6}};
  thing taken = {0};
  assert_int_equal(lampar_sized_read(&taken, sizeof taken, &given, "thing"), LAMPAR_OK);
  assert_int_equal(taken.b, 6);
  given.c = 1;
  assert_int_equal(lampar_sized_read(&taken, sizeof taken, &given, "thing"), LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "thing uses fields that lampar"));
}

static void a_forgotten_size_is_told(void **state) {
  (void)state;
  const thing given = {.a = 5};
  thing taken = {0};
  assert_int_equal(lampar_sized_read(&taken, sizeof taken, &given, "thing"), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(),
                      "thing: its size is not set: start from the _INIT macro");
  assert_int_equal(lampar_sized_read(&taken, sizeof taken, NULL, "thing"), LAMPAR_ERROR_ARGUMENT);
}

static void writes_only_what_fits(void **state) {
  (void)state;
  thing found = {.size = sizeof found, .a = 5, .b = 6};
  thing asked = {.size = offsetof(thing, b), .b = 9};
  assert_int_equal(lampar_sized_write(&asked, &found, sizeof found, "thing"), LAMPAR_OK);
  assert_int_equal(asked.a, 5);
  assert_int_equal(asked.b, 9);
  assert_int_equal(asked.size, offsetof(thing, b));
}

#define CHECK_INIT(type, init)                                                                     \
  do {                                                                                             \
    const type given = init;                                                                       \
    assert_int_equal(offsetof(type, size), 0);                                                     \
    assert_int_equal(given.size, sizeof(type));                                                    \
  } while (0)

static void every_public_struct_starts_with_its_size(void **state) {
  (void)state;
  CHECK_INIT(lampar_kernel_info, LAMPAR_KERNEL_INFO_INIT);
  CHECK_INIT(lampar_exchange, LAMPAR_EXCHANGE_INIT);
  CHECK_INIT(lampar_group_config, LAMPAR_GROUP_CONFIG_INIT);
  CHECK_INIT(lampar_call, LAMPAR_CALL_INIT);
  CHECK_INIT(lampar_answer, LAMPAR_ANSWER_INIT);
  CHECK_INIT(lampar_fault, LAMPAR_FAULT_INIT);
  CHECK_INIT(lampar_stats, LAMPAR_STATS_INIT);
  CHECK_INIT(lampar_jit_stats, LAMPAR_JIT_STATS_INIT);
  CHECK_INIT(lampar_jit_options, LAMPAR_JIT_OPTIONS_INIT);
  const lampar_call call = LAMPAR_CALL_INIT;
  assert_int_equal(call.operand_size, sizeof(lampar_operand));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_public_struct_starts_with_its_size),
      cmocka_unit_test(older_callers_get_defaults),
      cmocka_unit_test(newer_callers_must_not_use_what_is_not_there),
      cmocka_unit_test(a_forgotten_size_is_told),
      cmocka_unit_test(writes_only_what_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
