/* The memory of a group: how much, and what is in it before the first kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "group/workspace.h"

enum { HIDDEN = 128, ROWS = 64, WORLD = 4, FLAT_MAILBOXES = 8 }; /* a row of HIDDEN: one mailbox */

static const lampar_variant row = {.algorithm = LAMPAR_ONESHOT,
                                   .world = WORLD,
                                   .dtype = LAMPAR_F32,
                                   .hidden = HIDDEN,
                                   .max_rows = ROWS,
                                   .max_bytes = ROWS * LAMPAR_MAILBOX_BYTES,
                                   .threads = 32,
                                   .cluster = 1,
                                   .vectors_per_warp = 1};

static uint64_t mailboxes_of(const lampar_variant *a, const lampar_variant *b,
                             const lampar_group_config *config) {
  const lampar_variant *const list[] = {a, b};
  const lampar_candidates kernels = {.variants = list, .count = 2};
  return lampar_workspace_mailboxes(&kernels, config, WORLD);
}

static void holds_the_largest_call_within_the_limits(void **state) {
  (void)state;
  lampar_variant small = row, flat = row, twoshot = row;
  small.max_rows = 2;
  small.max_bytes = 2 * LAMPAR_MAILBOX_BYTES;
  flat.hidden = flat.max_rows = 0;
  flat.max_bytes = FLAT_MAILBOXES * LAMPAR_MAILBOX_BYTES;
  twoshot.algorithm = LAMPAR_TWOSHOT;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  assert_int_equal(mailboxes_of(&small, &row, &config), ROWS);
  assert_int_equal(mailboxes_of(&row, &small, &config), ROWS);
  assert_int_equal(mailboxes_of(&small, &flat, &config), FLAT_MAILBOXES);
  assert_int_equal(mailboxes_of(&small, &twoshot, &config), ROWS); /* those of one-shot */

  config.max_rows = 5; /* rows of a call, not bytes of a flat one */
  assert_int_equal(mailboxes_of(&small, &row, &config), 5);
  assert_int_equal(mailboxes_of(&flat, &row, &config), FLAT_MAILBOXES);
  config.max_rows = 2 * ROWS;
  assert_int_equal(mailboxes_of(&small, &row, &config), ROWS);

  config.max_rows = 0;
  config.lanes = 3;
  config.workspace_limit = 3 * lampar_workspace_bytes(7, WORLD);
  assert_int_equal(mailboxes_of(&small, &row, &config), 7);
  config.workspace_limit -= 1;
  assert_int_equal(mailboxes_of(&small, &row, &config), 6);
}

static uint32_t word_at(lampar_device_pointer at) {
  uint32_t word;
  memcpy(&word, (const void *)(uintptr_t)at, sizeof word);
  return word;
}

/* Memory comes dirty: an epoch that starts with what was there is another rank's wrong half. */
static void is_empty_before_the_first_kernel(void **state) {
  (void)state;
  enum { MAILBOXES = 3, LANES = 2 };
  lampar_driver driver;
  lampar_nccl nccl;
  lampar_workspace workspace;
  fake_open(&driver, &nccl);
  lampar_workspace_plan(&workspace, MAILBOXES, WORLD, LANES);
  assert_int_equal(lampar_workspace_open(&workspace, &driver, fake_stream(1)), LAMPAR_OK);
  assert_string_equal(fake.log, "set 1; set 1; wait 1; ");

  const lampar_device_pointer epochs = lampar_workspace_epochs(&workspace, 0);
  const lampar_device_pointer flag = lampar_workspace_flag(&workspace);
  assert_int_equal(epochs - workspace.base, LANES * workspace.lane_bytes);
  assert_int_equal(flag + sizeof(uint32_t) - workspace.base, workspace.bytes);
  for (lampar_device_pointer at = workspace.base; at < epochs; at += sizeof(uint32_t))
    assert_int_equal(word_at(at), 0xffffffff);
  for (lampar_device_pointer at = epochs; at <= flag; at += sizeof(uint32_t))
    assert_int_equal(word_at(at), 0);
  assert_false(lampar_workspace_is_faulted(&workspace));
  const lampar_fault_record clean = {0};
  assert_memory_equal(workspace.fault, &clean, sizeof clean);

  workspace.fault->state = 1;
  assert_true(lampar_workspace_is_faulted(&workspace));
  lampar_workspace_close(&workspace, &driver);
  assert_false(lampar_workspace_is_faulted(&workspace));
  assert_string_equal(fake.log, "set 1; set 1; wait 1; free; free host; ");
}

static void lanes_share_nothing(void **state) {
  (void)state;
  enum { MAILBOXES = 3, LANES = 3 };
  lampar_workspace workspace;
  lampar_workspace_plan(&workspace, MAILBOXES, WORLD, LANES);
  assert_int_equal(workspace.lane_bytes, MAILBOXES * 2 * WORLD * LAMPAR_MAILBOX_BYTES);
  for (uint32_t lane = 0; lane < LANES; ++lane)
    assert_int_equal(lampar_workspace_epochs(&workspace, lane + 1) -
                         lampar_workspace_epochs(&workspace, lane),
                     MAILBOXES * sizeof(uint32_t));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(holds_the_largest_call_within_the_limits),
      cmocka_unit_test(is_empty_before_the_first_kernel),
      cmocka_unit_test(lanes_share_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
