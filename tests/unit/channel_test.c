/* The channel of set-up: whose failure all ranks get, and what a rank leaves behind on its thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "exchange/exchange.h"
#include "page_quotes.h"

enum { WORLD = 4, OWN_MODE = 1 };

/* ---- over the caller's exchange ---- */

/* What the other ranks send; this one is rank 0. */
static lampar_failure others[WORLD];
static int exchange_result;

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  (void)user;
  memcpy(all, others, bytes * WORLD);
  memcpy(all, mine, bytes);
  return exchange_result;
}

static lampar_channel open_channel(void) {
  lampar_channel channel;
  lampar_exchange exchange = LAMPAR_EXCHANGE_INIT;
  exchange.world = WORLD;
  exchange.all_gather = all_gather;
  assert_int_equal(lampar_channel_over_exchange(&channel, "group set-up", &exchange, "exchange"),
                   LAMPAR_OK);
  return channel;
}

static lampar_failure failure_of(lampar_status status, const char *message) {
  lampar_failure failure;
  lampar_failure_save(&failure, lampar_fail(status, "%s", message));
  return failure;
}

static void the_first_failure_is_everybodys(void **state) {
  (void)state;
  const lampar_channel channel = open_channel();
  lampar_failure first;
  memset(others, 0, sizeof others);
  assert_int_equal(lampar_channel_vote(&channel, "peers", LAMPAR_OK, &first), LAMPAR_OK);
  assert_int_equal(lampar_failure_raise(&first), LAMPAR_OK);

  others[2] = failure_of(LAMPAR_ERROR_DRIVER, "out of memory on 2");
  others[3] = failure_of(LAMPAR_ERROR_NCCL, "out of memory on 3");
  assert_int_equal(lampar_channel_vote(&channel, "peers", LAMPAR_OK, &first), LAMPAR_OK);
  assert_int_equal(lampar_failure_raise(&first), LAMPAR_ERROR_DRIVER);
  assert_string_equal(lampar_last_error(), "rank 2, step peers: out of memory on 2");

  const lampar_status own = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  assert_int_equal(lampar_channel_vote(&channel, "peers", own, &first), LAMPAR_OK);
  assert_int_equal(lampar_failure_raise(&first), LAMPAR_ERROR_SYSTEM);
  assert_string_equal(lampar_last_error(), "rank 0, step peers: out of memory");
}

/* A rank that timed out waited for the one that failed. */
static void a_cause_comes_before_timeouts(void **state) {
  (void)state;
  const lampar_channel channel = open_channel();
  lampar_failure first;
  memset(others, 0, sizeof others);
  others[1] = failure_of(LAMPAR_ERROR_TIMEOUT, "nothing came");
  others[3] = failure_of(LAMPAR_ERROR_DRIVER, "not launched");
  const lampar_status own = lampar_fail(LAMPAR_ERROR_TIMEOUT, "nothing came");
  assert_int_equal(lampar_channel_vote(&channel, "self-test", own, &first), LAMPAR_OK);
  assert_string_equal(first.message, "rank 3, step self-test: not launched");
  others[3] = failure_of(LAMPAR_ERROR_TIMEOUT, "nothing came");
  assert_int_equal(lampar_channel_vote(&channel, "self-test", LAMPAR_OK, &first), LAMPAR_OK);
  assert_string_equal(first.message, "rank 1, step self-test: nothing came");
}

/* Of another version perhaps: its text may lack an end, and its status a name. */
static void what_others_send_is_not_trusted(void **state) {
  (void)state;
  const lampar_channel channel = open_channel();
  lampar_failure first;
  memset(others, 0, sizeof others);
  memset(&others[1], 'x', sizeof others[1]);
  assert_int_equal(lampar_channel_vote(&channel, "start", LAMPAR_OK, &first), LAMPAR_OK);
  assert_int_not_equal(lampar_failure_raise(&first), LAMPAR_OK);
  assert_true(strlen(lampar_last_error()) < LAMPAR_FAILURE_BYTES);
  assert_string_equal(lampar_status_string((lampar_status)first.status), "unknown status");
}

static void an_exchange_that_fails_names_the_step(void **state) {
  (void)state;
  const lampar_channel channel = open_channel();
  char mine = 0, all[WORLD];
  lampar_failure first;
  exchange_result = 5;
  assert_int_equal(lampar_channel_gather(&channel, "facts", &mine, all, 1), LAMPAR_ERROR_SYSTEM);
  assert_string_equal(
      lampar_last_error(),
      "group set-up, step \"facts\", rank 0 of 4: the exchange returned 5: some rank "
      "did not arrive, or its transport failed");
  assert_int_equal(lampar_channel_vote(&channel, "facts", LAMPAR_OK, &first), LAMPAR_ERROR_SYSTEM);
  exchange_result = 0;
}

/* ---- over NCCL ---- */

static struct CUctx_st *const own_context = (struct CUctx_st *)8;
static struct CUctx_st *const primary_context = (struct CUctx_st *)16;

static struct {
  struct CUctx_st *context;
  int mode, retained, streams, buffers;
  int stream_state; /* what a query of the stream returns */
  bool was_right;   /* NCCL was called in its own context, in a mode that forbids nothing */
} nccl_state;

static int context_current(struct CUctx_st **context) {
  *context = nccl_state.context;
  return LAMPAR_CUDA_SUCCESS;
}

static int context_set_current(struct CUctx_st *context) {
  nccl_state.context = context;
  return LAMPAR_CUDA_SUCCESS;
}

static int capture_mode_exchange(int *mode) {
  const int before = nccl_state.mode;
  nccl_state.mode = *mode;
  *mode = before;
  return LAMPAR_CUDA_SUCCESS;
}

static int device_get(int *device, int ordinal) {
  *device = ordinal;
  return LAMPAR_CUDA_SUCCESS;
}

static int primary_context_retain(struct CUctx_st **context, int device) {
  (void)device;
  ++nccl_state.retained;
  *context = primary_context;
  return LAMPAR_CUDA_SUCCESS;
}

static int primary_context_release(int device) {
  (void)device;
  --nccl_state.retained;
  return LAMPAR_CUDA_SUCCESS;
}

static int stream_create(struct CUstream_st **stream, unsigned flags) {
  (void)flags;
  ++nccl_state.streams;
  *stream = (struct CUstream_st *)&nccl_state;
  return LAMPAR_CUDA_SUCCESS;
}

static int stream_destroy(struct CUstream_st *stream) {
  (void)stream;
  --nccl_state.streams;
  return LAMPAR_CUDA_SUCCESS;
}

static int stream_query(struct CUstream_st *stream) {
  (void)stream;
  return nccl_state.stream_state;
}

static int host_alloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  ++nccl_state.buffers;
  *memory = malloc(bytes);
  return LAMPAR_CUDA_SUCCESS;
}

static int host_free(void *memory) {
  --nccl_state.buffers;
  free(memory);
  return LAMPAR_CUDA_SUCCESS;
}

static int count(const struct ncclComm *comm, int *ranks) {
  (void)comm;
  *ranks = 8;
  return LAMPAR_NCCL_SUCCESS;
}

static int user_rank(const struct ncclComm *comm, int *rank) {
  (void)comm;
  *rank = 0;
  return LAMPAR_NCCL_SUCCESS;
}

static int device(const struct ncclComm *comm, int *ordinal) {
  (void)comm;
  *ordinal = 3;
  return LAMPAR_NCCL_SUCCESS;
}

static int gather(const void *input, void *output, size_t bytes, int dtype, struct ncclComm *comm,
                  struct CUstream_st *stream) {
  (void)dtype, (void)comm, (void)stream;
  nccl_state.was_right =
      nccl_state.context == primary_context && nccl_state.mode == LAMPAR_CAPTURE_MODE_RELAXED;
  for (int r = 0; r < 8; ++r) memcpy((char *)output + (size_t)r * bytes, input, bytes);
  return LAMPAR_NCCL_SUCCESS;
}

static const lampar_driver driver = {.context_current = context_current,
                                     .context_set_current = context_set_current,
                                     .capture_mode_exchange = capture_mode_exchange,
                                     .device_get = device_get,
                                     .primary_context_retain = primary_context_retain,
                                     .primary_context_release = primary_context_release,
                                     .stream_create = stream_create,
                                     .stream_destroy = stream_destroy,
                                     .stream_query = stream_query,
                                     .host_alloc = host_alloc,
                                     .host_free = host_free};
static const lampar_nccl nccl = {
    .count = count, .user_rank = user_rank, .device = device, .all_gather = gather};
static const lampar_logger logger;

static lampar_channel open_nccl(uint32_t timeout_ms) {
  lampar_channel channel;
  memset(&nccl_state, 0, sizeof nccl_state);
  nccl_state.context = own_context;
  nccl_state.mode = OWN_MODE;
  assert_int_equal(lampar_channel_over_nccl(&channel, "group set-up", &driver, &nccl, &logger,
                                            (struct ncclComm *)&nccl_state, timeout_ms),
                   LAMPAR_OK);
  return channel;
}

static void expect_thread_as_before(void) {
  assert_ptr_equal(nccl_state.context, own_context);
  assert_int_equal(nccl_state.mode, OWN_MODE);
}

static void nccl_runs_in_its_own_context(void **state) {
  (void)state;
  lampar_channel channel = open_nccl(1000);
  uint64_t mine = 0x1234, all[8] = {0};
  expect_thread_as_before();
  assert_int_equal(lampar_channel_gather(&channel, "facts", &mine, all, sizeof mine), LAMPAR_OK);
  for (int r = 0; r < 8; ++r) assert_int_equal(all[r], mine);
  assert_true(nccl_state.was_right);
  expect_thread_as_before();
  lampar_channel_close(&channel);
  expect_thread_as_before();
  assert_int_equal(nccl_state.streams + nccl_state.buffers + nccl_state.retained, 0);
}

static void a_rank_that_never_comes_ends_the_wait(void **state) {
  (void)state;
  lampar_channel channel = open_nccl(2);
  char mine = 0, all[8];
  nccl_state.stream_state = LAMPAR_CUDA_ERROR_NOT_READY;
  assert_int_equal(lampar_channel_gather(&channel, "start", &mine, all, 1), LAMPAR_ERROR_TIMEOUT);
  assert_string_equal(lampar_last_error(),
                      "group set-up, step \"start\", rank 0 of 8: some rank did not arrive within "
                      "2 ms: look for the error of that rank");
  assert_true(
      page_quotes("group set-up, step \"start\", rank 0 of 8: some rank did not arrive within "
                  "120000 ms: look for the error of that rank"));
  expect_thread_as_before();
  /* NCCL may still write to the buffer. */
  void *const buffer = channel.buffer;
  lampar_channel_close(&channel);
  assert_int_equal(nccl_state.buffers, 1);
  assert_int_equal(nccl_state.streams, 1);
  free(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_failure_is_everybodys),
      cmocka_unit_test(a_cause_comes_before_timeouts),
      cmocka_unit_test(what_others_send_is_not_trusted),
      cmocka_unit_test(an_exchange_that_fails_names_the_step),
      cmocka_unit_test(nccl_runs_in_its_own_context),
      cmocka_unit_test(a_rank_that_never_comes_ends_the_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
