/* Statuses and reasons: each value has a text of its own, without gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static const char *status_text(int value) {
  return lampar_status_string((lampar_status)value);
}

static const char *reason_text(int value) {
  return lampar_reason_string((lampar_reason)value);
}

static void check_texts(const char *(*text)(int value), int last) {
  const char *const unknown = text(-1);
  assert_string_equal(text(last + 1), unknown);
  for (int i = 0; i <= last; ++i) {
    assert_string_not_equal(text(i), unknown);
    for (int j = 0; j < i; ++j) assert_string_not_equal(text(i), text(j));
  }
}

static void every_status_has_a_text(void **state) {
  (void)state;
  assert_string_equal(status_text(-1), "unknown status");
  check_texts(status_text, LAMPAR_ERROR_MISMATCH);
}

static void every_reason_has_a_text(void **state) {
  (void)state;
  assert_string_equal(reason_text(-1), "unknown reason");
  check_texts(reason_text, LAMPAR_REASON_SETUP_FAILED);
}

/* The new message may be made from the old one. */
static void a_failure_keeps_its_status_and_message(void **state) {
  (void)state;
  assert_int_equal(lampar_fail(LAMPAR_ERROR_MISMATCH, "element %d", 7), LAMPAR_ERROR_MISMATCH);
  assert_int_equal(lampar_fail(LAMPAR_ERROR_CANCELLED, "rank 1: %s", lampar_last_error()),
                   LAMPAR_ERROR_CANCELLED);
  assert_string_equal(lampar_last_error(), "rank 1: element 7");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_status_has_a_text),
      cmocka_unit_test(every_reason_has_a_text),
      cmocka_unit_test(a_failure_keeps_its_status_and_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
