/* A call of a group, as the driver and NCCL get it: which kernel, how many blocks, which bound, and
 * in what order with other streams. What a device cannot show: too many blocks may fit by chance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "fake_driver.h"
#include "group/group_state.h"
#include "group/setup.h"
#include "page_quotes.h"

enum {
  HIDDEN = 128, /* fp32: a row is one mailbox */
  ROWS = 64,
  LANES = 2,
  BOUND_MS = 1000,
  KERNELS = 3,
  RESIDENT = 10,
};

/* The kernels of one key, in the order of a pack: by limit. */
enum { SINGLE_PASS, OTHER_ALGORITHM, PERSISTENT };

static lampar_pack_record records[KERNELS] = {
    {.name = "single_pass"}, {.name = "other_algorithm"}, {.name = "persistent"}};
static lampar_pack_kernel packed[KERNELS];
static lampar_group group;

static lampar_variant variant_of(uint32_t max_rows, uint32_t algorithm, uint32_t persistent) {
  return (lampar_variant){.algorithm = algorithm,
                          .world = 2,
                          .dtype = LAMPAR_F32,
                          .hidden = HIDDEN,
                          .max_rows = max_rows,
                          .max_bytes = (uint64_t)max_rows * LAMPAR_MAILBOX_BYTES,
                          .persistent = persistent,
                          .threads = 32,
                          .cluster = 1,
                          .vectors_per_warp = 1,
                          .watchdog_ms = BOUND_MS};
}

static int close_group(void **state) {
  (void)state;
  free(group.kernels.list);
  free(group.kernels.variants);
  free(group.lanes);
  free(group.arguments);
  memset(&group, 0, sizeof group);
  return 0;
}

/* Rank 1 of 2, without other ranks. */
static int open_group(void **state) {
  (void)state;
  lampar_variant variants[KERNELS] = {variant_of(ROWS, LAMPAR_ONESHOT, 0),
                                      variant_of(2 * ROWS, LAMPAR_TWOSHOT, 1),
                                      variant_of(4 * ROWS, LAMPAR_ONESHOT, 1)};
  memset(&group, 0, sizeof group);
  fake_open(&group.driver, &group.nccl);
  group.config = (lampar_group_config)LAMPAR_GROUP_CONFIG_INIT;
  group.config.lanes = LANES;
  group.rank = 1;
  group.world = 2;
  group.comm = (struct ncclComm *)&group;
  group.kernels.list = calloc(KERNELS, sizeof *group.kernels.list);
  group.kernels.variants = calloc(KERNELS, sizeof *group.kernels.variants);
  group.lanes = calloc(LANES, sizeof *group.lanes);
  group.arguments = calloc(LANES, sizeof *group.arguments);
  if (group.kernels.list == NULL || group.kernels.variants == NULL || group.lanes == NULL ||
      group.arguments == NULL)
    return -1;
  group.kernels.count = KERNELS;
  for (size_t i = 0; i < KERNELS; ++i) {
    packed[i] = (lampar_pack_kernel){.variant = variants[i], .record = &records[i]};
    group.kernels.variants[i] = &packed[i].variant;
    group.kernels.list[i] =
        (lampar_kernel){.packed = &packed[i],
                        .function = (struct CUfunc_st *)(uintptr_t)records[i].name,
                        .resident = RESIDENT};
  }
  group.candidates = (lampar_candidates){
      .variants = group.kernels.variants, .count = KERNELS, .mailboxes = 100 * ROWS};
  for (uint32_t lane = 0; lane < LANES; ++lane) {
    lampar_lane_open(&group.lanes[lane], &group.driver);
    group.arguments[lane].rank = 100 + lane; /* recognised in what is launched */
    group.arguments[lane].watchdog_ns = UINT64_MAX;
  }
  return 0;
}

static lampar_call call_of(uint64_t rows) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)0x100000;
  call.output = (void *)(uintptr_t)0x40000000;
  call.rows = rows;
  call.hidden = HIDDEN;
  call.dtype = LAMPAR_F32;
  return call;
}

static void make(const lampar_call *call, int stream) {
  if (lampar_all_reduce(&group, call, fake_stream(stream)) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
}

static const char *launched(void) {
  return (const char *)fake.function;
}

/* ---- which kernel, how many blocks ---- */

static void what_fits_is_launched_in_one_pass(void **state) {
  (void)state;
  const lampar_call call = call_of(RESIDENT);
  make(&call, 1);
  assert_string_equal(launched(), "single_pass");
  assert_int_equal(fake.config.grid_x, RESIDENT);
  assert_int_equal(fake.config.block_x, 32);
  assert_int_equal(fake.arguments.kernel, SINGLE_PASS);
  assert_int_equal(fake.arguments.mailboxes, RESIDENT);
}

/* One block more than the device holds: it would wait for blocks that cannot start. The persistent
 * kernel of another algorithm would use other mailboxes than the ranks for which the call fits. */
static void what_does_not_fit_goes_to_the_persistent_kernel_of_its_algorithm(void **state) {
  (void)state;
  const lampar_call call = call_of(RESIDENT + 1);
  make(&call, 1);
  assert_string_equal(launched(), "persistent");
  assert_int_equal(fake.config.grid_x, RESIDENT);
  assert_int_equal(fake.arguments.kernel, PERSISTENT);
  assert_int_equal(fake.arguments.mailboxes, RESIDENT + 1);
}

static void without_a_persistent_kernel_it_is_refused(void **state) {
  (void)state;
  const lampar_call call = call_of(RESIDENT + 1);
  group.candidates.count = OTHER_ALGORITHM + 1;
  assert_int_equal(lampar_all_reduce(&group, &call, fake_stream(1)), LAMPAR_ERROR_NO_KERNEL);
  assert_non_null(strstr(lampar_last_error(), "do not fit on this GPU at once"));
  assert_string_equal(fake.log, "");
}

static void a_persistent_kernel_has_no_more_blocks_than_fit(void **state) {
  (void)state;
  const lampar_call large = call_of(4 * ROWS);
  make(&large, 1);
  assert_string_equal(launched(), "persistent");
  assert_int_equal(fake.config.grid_x, RESIDENT);
  group.kernels.list[PERSISTENT].resident = 1000; /* and no more than there are mailboxes */
  make(&large, 1);
  assert_int_equal(fake.config.grid_x, 4 * ROWS);
}

/* A fused kernel's unit is a row, with a cluster of blocks. */
static void clusters_are_counted_by_rows(void **state) {
  (void)state;
  enum { CLUSTER = 4 };
  lampar_variant *variant = &packed[SINGLE_PASS].variant;
  group.candidates.count = 1;
  variant->hidden = 8 * HIDDEN;
  variant->max_bytes *= 8;
  variant->cluster = CLUSTER;
  variant->threads = 64;
  strcpy(variant->epilogue, "norm");
  lampar_call call = call_of(RESIDENT);
  call.hidden = variant->hidden;
  call.epilogue = "norm";
  make(&call, 1);
  assert_int_equal(fake.config.grid_x, CLUSTER * RESIDENT);
  assert_int_equal(fake.config.attribute_count, 1);
  assert_int_equal(fake.attributes[0].id, LAMPAR_LAUNCH_CLUSTER_DIMENSION);
  assert_int_equal(fake.attributes[0].value.cluster_dimension.x, CLUSTER);
  ++call.rows;
  assert_int_equal(lampar_all_reduce(&group, &call, fake_stream(1)), LAMPAR_ERROR_NO_KERNEL);
}

static uint32_t resident(uint32_t cluster, int multiprocessors, uint32_t ranks_on_device) {
  packed[0].variant.cluster = cluster;
  packed[0].variant.threads = 96;
  lampar_kernels one = {.list = group.kernels.list, .count = 1};
  assert_int_equal(lampar_kernels_load(&one, &group.driver, multiprocessors, ranks_on_device),
                   LAMPAR_OK);
  assert_int_equal(fake.asked_threads, 96);
  return group.kernels.list[0].resident;
}

/* Ranks that share a device share its room, and leave gaps in it. */
static void room_is_what_the_driver_says_divided_among_ranks(void **state) {
  (void)state;
  fake.blocks = 6;
  fake.clusters = 33;
  assert_int_equal(resident(1, 10, 1), 60);
  assert_int_equal(resident(1, 10, 2), 15);
  assert_int_equal(resident(1, 10, 3), 10);
  assert_int_equal(resident(8, 10, 1), 33);
  assert_int_equal(fake.asked_cluster, 8);
  assert_int_equal(fake.asked_grid, 8);
  assert_int_equal(resident(8, 10, 4), 4);
  assert_int_equal(resident(8, 10, 16), 1);
  assert_non_null(strstr(fake.log, "load single_pass; ")); /* before it is first launched */
}

/* ---- the arguments of a kernel ---- */

static uint64_t bound_ms(uint32_t of_config) {
  const lampar_call call = call_of(1);
  group.config.watchdog_ms = of_config;
  make(&call, 1);
  assert_int_equal(fake.arguments.watchdog_ns % 1000000, 0);
  return fake.arguments.watchdog_ns / 1000000;
}

static void a_wait_is_bound_by_the_kernel_and_the_config(void **state) {
  (void)state;
  assert_int_equal(bound_ms(0), BOUND_MS);
  assert_int_equal(bound_ms(200), 200);
  assert_int_equal(bound_ms(5 * BOUND_MS), BOUND_MS); /* which may only shorten it */
}

static void a_lane_has_mailboxes_of_its_own(void **state) {
  (void)state;
  lampar_call call = call_of(1);
  make(&call, 1);
  assert_int_equal(fake.arguments.rank, 100);
  call.lane = 1;
  make(&call, 1);
  assert_int_equal(fake.arguments.rank, 101);
  call.lane = LANES;
  assert_int_equal(lampar_all_reduce(&group, &call, fake_stream(1)), LAMPAR_ERROR_ARGUMENT);
}

/* Only where the group asks for it and the kernel waits for the one before it. */
static void programmatic_launch_is_asked_for(void **state) {
  (void)state;
  const lampar_call call = call_of(1);
  for (uint32_t trigger = LAMPAR_TRIGGER_OFF; trigger <= LAMPAR_TRIGGER_EXIT; ++trigger)
    for (int asked = 0; asked < 2; ++asked) {
      packed[SINGLE_PASS].variant.trigger = trigger;
      group.config.programmatic_launch = asked;
      make(&call, 1);
      const bool expected = asked && trigger != LAMPAR_TRIGGER_OFF;
      assert_int_equal(fake.config.attribute_count, expected ? 1 : 0);
      if (expected)
        assert_int_equal(fake.attributes[0].id, LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION);
    }
}

static void a_fault_names_its_kernel(void **state) {
  (void)state;
  lampar_fault_record record = {
      .state = 1, .rank = 1, .missing = 1, .mailbox = 5, .epoch = 7, .kernel = PERSISTENT};
  lampar_fault fault = LAMPAR_FAULT_INIT;
  const lampar_call call = call_of(1);
  assert_int_equal(lampar_group_error(&group, &fault), LAMPAR_OK);
  group.workspace.fault = &record;
  assert_int_equal(lampar_group_error(&group, &fault), LAMPAR_ERROR_TIMEOUT);
  assert_string_equal(fault.kernel, "persistent");
  assert_int_equal(fault.source, 0);
  assert_string_equal(lampar_last_error(),
                      "rank 1 timed out waiting for rank 0 (missing mask 0x1), in persistent, "
                      "mailbox 5, epoch 7: check that rank, then destroy the group");
  assert_int_equal(lampar_all_reduce(&group, &call, fake_stream(1)), LAMPAR_ERROR_TIMEOUT);
  strcpy(records[PERSISTENT].name, "ar_oneshot_w8_bf16_h7168_sm_90");
  record = (lampar_fault_record){
      .state = 1, .rank = 3, .missing = 0x20, .mailbox = 12, .epoch = 481, .kernel = PERSISTENT};
  assert_int_equal(lampar_group_error(&group, NULL), LAMPAR_ERROR_TIMEOUT);
  assert_true(page_quotes(lampar_last_error()));
  strcpy(records[PERSISTENT].name, "persistent");
  record.kernel = KERNELS;
  assert_int_equal(lampar_group_error(&group, &fault), LAMPAR_ERROR_TIMEOUT);
  assert_string_equal(fault.kernel, "unknown kernel");
}

/* ---- streams ---- */

static void calls_on_two_streams_are_in_order(void **state) {
  (void)state;
  lampar_call call = call_of(1);
  make(&call, 1);
  make(&call, 1);
  make(&call, 2);
  call.lane = 1; /* waits for nobody */
  make(&call, 3);
  assert_string_equal(fake.log,
                      "launch 1; launch 1; event after 1; event before 2; launch 2; launch 3; ");
}

static void two_streams_of_one_capture_are_refused(void **state) {
  (void)state;
  const lampar_call call = call_of(1);
  fake.capture_status = 1;
  fake.capture = 7;
  make(&call, 1);
  make(&call, 1);
  assert_int_equal(lampar_all_reduce(&group, &call, fake_stream(2)), LAMPAR_ERROR_CAPTURE);
  fake.capture = 8; /* another capture */
  make(&call, 2);
  assert_string_equal(fake.log, "launch 1; launch 1; launch 2; ");
}

/* Memory that a kernel still uses would be another's by then. */
static void destruction_waits_for_the_last_call_of_each_lane(void **state) {
  (void)state;
  lampar_call call = call_of(1);
  lampar_workspace_plan(&group.workspace, ROWS, 2, LANES);
  assert_int_equal(lampar_workspace_open(&group.workspace, &group.driver, fake_stream(9)),
                   LAMPAR_OK);
  make(&call, 1);
  make(&call, 2);
  call.lane = 1;
  make(&call, 3);
  fake.log[0] = '\0';
  for (size_t i = 0; i < KERNELS; ++i)
    group.kernels.list[i].library = (struct CUlib_st *)&records[i];
  assert_int_equal(lampar_setup_disable_kernels(&group), LAMPAR_OK);
  assert_string_equal(fake.log, "wait 2; event destroyed; wait 3; event destroyed; free; "
                                "free host; unload; unload; unload; ");
}

/* ---- NCCL ---- */

/* More rows than any kernel takes. */
static lampar_call nccl_call(uint64_t input_stride, uint64_t output_stride) {
  lampar_call call = call_of(5 * ROWS);
  call.input_stride = input_stride;
  call.output_stride = output_stride;
  return call;
}

static void expect_copy(int index, const void *from, uint64_t from_stride, const void *to,
                        uint64_t to_stride) {
  const lampar_copy_2d *copy = &fake.copies[index];
  assert_int_equal(copy->source_type, LAMPAR_MEMORYTYPE_DEVICE);
  assert_int_equal(copy->destination_type, LAMPAR_MEMORYTYPE_DEVICE);
  assert_ptr_equal((void *)(uintptr_t)copy->source_device, from);
  assert_int_equal(copy->source_pitch, from_stride * sizeof(float));
  assert_ptr_equal((void *)(uintptr_t)copy->destination_device, to);
  assert_int_equal(copy->destination_pitch, to_stride * sizeof(float));
  assert_int_equal(copy->width, HIDDEN * sizeof(float));
  assert_int_equal(copy->height, 5 * ROWS);
}

static void nccl_gets_whole_rows_in_place(void **state) {
  (void)state;
  const lampar_call given[] = {nccl_call(0, 0), nccl_call(HIDDEN, HIDDEN)};
  for (size_t i = 0; i < 2; ++i) {
    make(&given[i], 1);
    assert_ptr_equal(fake.reduce_input, given[i].input);
    assert_ptr_equal(fake.reduce_output, given[i].output);
    assert_int_equal(fake.reduce_count, 5 * ROWS * HIDDEN);
    assert_int_equal(fake.reduce_dtype, lampar_nccl_dtype(LAMPAR_F32));
    assert_int_equal(fake.reduce_op, lampar_nccl_op(LAMPAR_SUM));
  }
  assert_string_equal(fake.log, "reduce 1; reduce 1; ");
}

static void rows_with_gaps_pass_through_a_buffer(void **state) {
  (void)state;
  lampar_call call = nccl_call(HIDDEN + 3, HIDDEN + 5);
  make(&call, 1);
  assert_string_equal(fake.log, "alloc 1; copy 1; reduce 1; copy 1; free 1; ");
  assert_ptr_equal(fake.reduce_input, fake.reduce_output);
  expect_copy(0, call.input, HIDDEN + 3, fake.reduce_input, HIDDEN);
  expect_copy(1, fake.reduce_output, HIDDEN, call.output, HIDDEN + 5);

  fake.log[0] = '\0', fake.copy_count = 0;
  call = nccl_call(HIDDEN + 3, 0);
  make(&call, 1);
  assert_string_equal(fake.log, "alloc 1; copy 1; reduce 1; copy 1; free 1; ");
  expect_copy(0, call.input, HIDDEN + 3, fake.reduce_input, HIDDEN);
  expect_copy(1, fake.reduce_output, HIDDEN, call.output, HIDDEN);

  fake.log[0] = '\0', fake.copy_count = 0;
  call = nccl_call(0, HIDDEN + 5);
  make(&call, 1);
  assert_string_equal(fake.log, "alloc 1; reduce 1; copy 1; free 1; ");
  assert_ptr_equal(fake.reduce_input, call.input);
  expect_copy(0, fake.reduce_output, HIDDEN, call.output, HIDDEN + 5);
}

/* With one row a stride means nothing. */
static void one_row_has_no_gaps(void **state) {
  (void)state;
  lampar_call call = nccl_call(5, 7);
  call.rows = 1;
  call.op = LAMPAR_MAX;
  make(&call, 1);
  assert_string_equal(fake.log, "reduce 1; ");
  assert_int_equal(fake.reduce_op, lampar_nccl_op(LAMPAR_MAX));
}

/* The epilogue's kernel takes NCCL's sum, whose rows have no gaps, whatever the input's have. */
static void an_epilogue_after_nccl_reads_the_sum(void **state) {
  (void)state;
  lampar_variant alone = variant_of(ROWS, LAMPAR_EPILOGUE_ONLY, 1);
  alone.world = 1;
  strcpy(alone.epilogue, "norm");
  lampar_pack_kernel only = {.variant = alone, .record = &records[PERSISTENT]};
  lampar_kernel kernel = {.packed = &only, .resident = RESIDENT};
  const lampar_variant *variants[] = {&only.variant};
  group.epilogue_only = (lampar_kernels){.list = &kernel, .count = 1};
  group.epilogue_only_candidates = (lampar_candidates){.variants = variants, .count = 1};
  lampar_call call = nccl_call(HIDDEN + 3, HIDDEN + 5);
  call.epilogue = "norm";
  make(&call, 1);
  assert_string_equal(fake.log, "alloc 1; copy 1; reduce 1; launch 1; free 1; ");
  expect_copy(0, call.input, HIDDEN + 3, fake.reduce_input, HIDDEN);
  assert_ptr_equal(fake.arguments.input, fake.reduce_output);
  assert_int_equal(fake.arguments.input_stride, HIDDEN);
  assert_ptr_equal(fake.arguments.output, call.output);
  assert_int_equal(fake.arguments.output_stride, HIDDEN + 5);
  assert_int_equal(fake.config.grid_x, RESIDENT);
}

static void calls_are_counted(void **state) {
  (void)state;
  const lampar_call by_kernel = call_of(2), by_nccl = nccl_call(0, 0);
  lampar_stats stats = LAMPAR_STATS_INIT;
  make(&by_kernel, 1);
  make(&by_kernel, 1);
  make(&by_nccl, 1);
  assert_int_equal(lampar_group_stats(&group, &stats), LAMPAR_OK);
  assert_int_equal(stats.kernel_calls, 2);
  assert_int_equal(stats.kernel_bytes, 2 * 2 * LAMPAR_MAILBOX_BYTES);
  assert_int_equal(stats.nccl_calls[LAMPAR_REASON_ROWS], 1);
  assert_int_equal(stats.nccl_bytes, 5 * ROWS * LAMPAR_MAILBOX_BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_group, close_group)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_fits_is_launched_in_one_pass),
      TEST(what_does_not_fit_goes_to_the_persistent_kernel_of_its_algorithm),
      TEST(without_a_persistent_kernel_it_is_refused),
      TEST(a_persistent_kernel_has_no_more_blocks_than_fit),
      TEST(clusters_are_counted_by_rows),
      TEST(room_is_what_the_driver_says_divided_among_ranks),
      TEST(a_wait_is_bound_by_the_kernel_and_the_config),
      TEST(a_lane_has_mailboxes_of_its_own),
      TEST(programmatic_launch_is_asked_for),
      TEST(a_fault_names_its_kernel),
      TEST(calls_on_two_streams_are_in_order),
      TEST(two_streams_of_one_capture_are_refused),
      TEST(destruction_waits_for_the_last_call_of_each_lane),
      TEST(nccl_gets_whole_rows_in_place),
      TEST(rows_with_gaps_pass_through_a_buffer),
      TEST(one_row_has_no_gaps),
      TEST(an_epilogue_after_nccl_reads_the_sum),
      TEST(calls_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
