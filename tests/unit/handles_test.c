/* A handle that is NULL is an argument error, not a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lampar/lampar.h"

static void expect_refused(lampar_status status) {
  assert_int_equal(status, LAMPAR_ERROR_ARGUMENT);
  if (strstr(lampar_last_error(), "NULL") == NULL) fail_msg("%s", lampar_last_error());
}

static void packs(void **state) {
  (void)state;
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  expect_refused(lampar_pack_info(NULL, 0, &info));
  expect_refused(lampar_pack_open("x.pack", NULL));
  assert_int_equal(lampar_pack_count(NULL), 0);
  assert_string_equal(lampar_pack_name(NULL), "");
  assert_string_equal(lampar_pack_digest(NULL), "");
  lampar_pack_close(NULL);
}

static void groups(void **state) {
  (void)state;
  const lampar_call call = LAMPAR_CALL_INIT;
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  lampar_stats stats = LAMPAR_STATS_INIT;
  lampar_fault fault = LAMPAR_FAULT_INIT;
  expect_refused(lampar_all_reduce(NULL, &call, NULL));
  expect_refused(lampar_query(NULL, &call, &answer));
  expect_refused(lampar_group_error(NULL, &fault));
  expect_refused(lampar_group_stats(NULL, &stats));
  assert_string_equal(lampar_group_report(NULL), "no group");
  assert_int_equal(lampar_group_world(NULL), 0);
  assert_int_equal(lampar_group_rank(NULL), -1);
  assert_int_equal(lampar_group_workspace_bytes(NULL), 0);
  assert_int_equal(lampar_group_destroy(NULL), LAMPAR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(packs), cmocka_unit_test(groups)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
