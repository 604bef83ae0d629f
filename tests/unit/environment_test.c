#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/environment.h"

static void empty_is_unset_and_zero_is_off(void **state) {
  (void)state;
  unsetenv("LAMPAR_DISABLE");
  assert_false(lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE));
  setenv("LAMPAR_DISABLE", "", 1);
  assert_null(lampar_variable_text(LAMPAR_VARIABLE_DISABLE));
  setenv("LAMPAR_DISABLE", "0", 1);
  assert_false(lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE));
  setenv("LAMPAR_DISABLE", "1", 1);
  assert_true(lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_is_unset_and_zero_is_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
