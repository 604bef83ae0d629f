#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "environment.h"

static char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

/* The README's table is the library's own, line by line. */
static void the_readme_lists_every_variable(void **state) {
  (void)state;
  char *readme = read_text(LAMPAR_README);
  size_t rows = 0;
  for (const char *p = readme; (p = strstr(p, "\n| `LAMPAR_")) != NULL; ++p) ++rows;
  assert_int_equal(rows, LAMPAR_VARIABLE_COUNT);
  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i) {
    char row[512];
    snprintf(row, sizeof row, "\n| `%s` | %s |\n", lampar_variable_name((enum lampar_variable)i),
             lampar_variable_meaning((enum lampar_variable)i));
    if (strstr(readme, row) == NULL) fail_msg("the README lacks:%s", row);
  }
  free(readme);
}

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
      cmocka_unit_test(the_readme_lists_every_variable),
      cmocka_unit_test(empty_is_unset_and_zero_is_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
