/* The page for operators says what the library says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/environment.h"
#include "lampar/lampar.h"
#include "spec/files.h"

static const char reason_row[] = "\n| `LAMPAR_REASON_";

static char *read_text(const char *path) {
  char *text;
  size_t size;
  assert_int_equal(lampar_file_read(path, 1 << 20, &text, &size), LAMPAR_OK);
  return text;
}

/* The table of operators.md is the library's own, line by line. */
static void the_page_lists_every_variable(void **state) {
  (void)state;
  char *page = read_text(LAMPAR_OPERATORS_PAGE);
  size_t rows = 0;
  for (const char *p = page; (p = strstr(p, "\n| `LAMPAR_")) != NULL; ++p)
    rows += strncmp(p, reason_row, sizeof reason_row - 1) != 0;
  assert_int_equal(rows, LAMPAR_VARIABLE_COUNT);
  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i) {
    char row[512];
    snprintf(row, sizeof row, "\n| `%s` | %s |\n", lampar_variable_name((enum lampar_variable)i),
             lampar_variable_meaning((enum lampar_variable)i));
    if (strstr(page, row) == NULL) fail_msg("operators.md lacks:%s", row);
  }
  free(page);
}

/* A row for each reason, in the order of their values, with its message. */
static void the_page_lists_every_reason(void **state) {
  (void)state;
  char *page = read_text(LAMPAR_OPERATORS_PAGE);
  const char *unknown = lampar_reason_string((lampar_reason)31), *row = page;
  int reason = 0;
  for (; strcmp(lampar_reason_string((lampar_reason)reason), unknown) != 0; ++reason) {
    char message[256];
    row = strstr(row, reason_row);
    if (row == NULL) fail_msg("operators.md has no row for reason %d", reason);
    snprintf(message, sizeof message, "` | %s | ", lampar_reason_string((lampar_reason)reason));
    const char *end = strchr(++row, '\n'), *found = strstr(row, message);
    if (found == NULL || found > end) fail_msg("row %d of operators.md lacks: %s", reason, message);
  }
  assert_int_equal(reason, LAMPAR_REASON_SETUP_FAILED + 1);
  assert_null(strstr(row, reason_row));
  free(page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_page_lists_every_variable),
      cmocka_unit_test(the_page_lists_every_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
