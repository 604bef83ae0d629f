/* Calls that no kernel takes: right sums by NCCL, counted with their reason; an error when strict.
 */
#include "checks.h"
#include "pack/dtype.h"

#include <math.h>
#include <string.h>

enum { ELEMENTS = 1001, ELEMENT_BYTES_MAX = 8, CALL_BYTES = ELEMENTS * ELEMENT_BYTES_MAX };

typedef struct wrong_call {
  lampar_dtype dtype;
  lampar_op op;
  lampar_reason reason;
} wrong_call;

static const wrong_call wrong_calls[] = {
    {LAMPAR_F64, LAMPAR_SUM, LAMPAR_REASON_DTYPE}, {LAMPAR_I32, LAMPAR_SUM, LAMPAR_REASON_DTYPE},
    {LAMPAR_I64, LAMPAR_SUM, LAMPAR_REASON_DTYPE}, {LAMPAR_U8, LAMPAR_SUM, LAMPAR_REASON_DTYPE},
    {LAMPAR_BF16, LAMPAR_MAX, LAMPAR_REASON_OP},   {LAMPAR_F16, LAMPAR_MIN, LAMPAR_REASON_OP},
    {LAMPAR_F32, LAMPAR_PROD, LAMPAR_REASON_OP},   {LAMPAR_F32, LAMPAR_AVG, LAMPAR_REASON_OP},
};
enum { WRONG_CALLS = sizeof wrong_calls / sizeof wrong_calls[0] };

static double number_of(int rank, size_t index, int round) {
  return (double)((index * 5 + (size_t)(rank * 3 + round)) % 8);
}

static double reduce(lampar_op op, double a, double b) {
  switch (op) {
  case LAMPAR_PROD: return a * b;
  case LAMPAR_MAX: return fmax(a, b);
  case LAMPAR_MIN: return fmin(a, b);
  case LAMPAR_AVG: return (a + b) / 2;
  default: return a + b;
  }
}

/* Small numbers, exact in every type. */
static void store(lampar_dtype dtype, void *array, size_t index, double value) {
  switch (dtype) {
  case LAMPAR_F64: ((double *)array)[index] = value; break;
  case LAMPAR_I32: ((int32_t *)array)[index] = (int32_t)value; break;
  case LAMPAR_I64: ((int64_t *)array)[index] = (int64_t)value; break;
  case LAMPAR_U8: ((uint8_t *)array)[index] = (uint8_t)value; break;
  default: lampar_element_store(dtype, array, index, lampar_encode(dtype, (float)value));
  }
}

/* Buffers of one rank. */
typedef struct buffers {
  lampar_device_pointer input, output;
  char *host; /* input, then what came back; pinned */
} buffers;

static lampar_status buffers_open(lampar_rank *rank, buffers *b) {
  const lampar_driver *driver = rank->driver;
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->memory_alloc(&b->input, CALL_BYTES), "cuMemAlloc"));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->memory_alloc(&b->output, CALL_BYTES), "cuMemAlloc"));
  return lampar_driver_check(
      driver, driver->host_alloc((void **)&b->host, 2 * CALL_BYTES, LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc");
}

static void buffers_close(lampar_rank *rank, buffers *b) {
  if (b->input != 0) rank->driver->memory_free(b->input);
  if (b->output != 0) rank->driver->memory_free(b->output);
  if (b->host != NULL) rank->driver->host_free(b->host);
}

static lampar_call call_of(const wrong_call *wrong, const buffers *b) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)b->input;
  call.output = (void *)(uintptr_t)b->output;
  call.hidden = ELEMENTS;
  call.dtype = wrong->dtype;
  call.op = wrong->op;
  return call;
}

static lampar_status upload(lampar_rank *rank, const wrong_call *wrong, const buffers *b,
                            int round) {
  const lampar_driver *driver = rank->driver;
  for (size_t i = 0; i < ELEMENTS; ++i)
    store(wrong->dtype, b->host, i, number_of(rank->rank, i, round));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->copy_to_device_async(b->input, b->host, CALL_BYTES, rank->stream[0]),
      "cuMemcpyHtoDAsync"));
  LAMPAR_TRY(lampar_rank_finish(rank));
  return lampar_rank_barrier(rank);
}

static lampar_status expect_result(lampar_rank *rank, const wrong_call *wrong, const buffers *b,
                                   int round) {
  const lampar_driver *driver = rank->driver;
  char *got = b->host + CALL_BYTES, *expected = b->host;
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->copy_to_host_async(got, b->output, CALL_BYTES, rank->stream[0]),
      "cuMemcpyDtoHAsync"));
  LAMPAR_TRY(lampar_rank_finish(rank));
  for (size_t i = 0; i < ELEMENTS; ++i)
    store(wrong->dtype, expected, i,
          reduce(wrong->op, number_of(0, i, round), number_of(1, i, round)));
  const size_t bytes = ELEMENTS * lampar_dtype_bytes(wrong->dtype);
  for (size_t i = 0; i < bytes; ++i)
    if (got[i] != expected[i])
      return lampar_fail(LAMPAR_ERROR_MISMATCH,
                         "%s, operation %d, round %d: byte %zu of %zu is wrong",
                         lampar_dtype_name(wrong->dtype), (int)wrong->op, round, i, bytes);
  return LAMPAR_OK;
}

static lampar_status expect_count(lampar_rank *rank, lampar_reason reason, uint64_t expected) {
  lampar_stats stats = LAMPAR_STATS_INIT;
  LAMPAR_TRY(lampar_group_stats(rank->group, &stats));
  if (stats.nccl_calls[reason] == expected) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "%llu calls are counted for '%s', expected %llu",
                     (unsigned long long)stats.nccl_calls[reason], lampar_reason_string(reason),
                     (unsigned long long)expected);
}

static lampar_status expect_nccl(lampar_rank *rank, const lampar_call *call, lampar_reason reason) {
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, call, &answer));
  if (answer.path == LAMPAR_PATH_NCCL && answer.reason == reason) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "%s, operation %d: path %d, reason '%s', expected '%s'",
                     lampar_dtype_name(call->dtype), (int)call->op, (int)answer.path,
                     lampar_reason_string(answer.reason), lampar_reason_string(reason));
}

/* One eager call, then a graph of it replayed with other inputs. */
static lampar_status fall_back(lampar_rank *rank, const wrong_call *wrong, const buffers *b) {
  lampar_stats before = LAMPAR_STATS_INIT;
  const lampar_call call = call_of(wrong, b);
  LAMPAR_TRY(lampar_group_stats(rank->group, &before));
  LAMPAR_TRY(expect_nccl(rank, &call, wrong->reason));
  LAMPAR_TRY(upload(rank, wrong, b, 0));
  LAMPAR_TRY(lampar_all_reduce(rank->group, &call, rank->stream[0]));
  LAMPAR_TRY(expect_result(rank, wrong, b, 0));

  lampar_rank_graph graph = {0};
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = lampar_all_reduce(rank->group, &call, rank->stream[0]);
  status = lampar_rank_graph_end(rank, status, &graph);
  for (int round = 1; round < 4 && status == LAMPAR_OK; ++round) {
    status = upload(rank, wrong, b, round);
    if (status == LAMPAR_OK) status = lampar_rank_graph_launch(rank, &graph);
    if (status == LAMPAR_OK) status = expect_result(rank, wrong, b, round);
  }
  lampar_rank_graph_free(rank, &graph);
  LAMPAR_TRY(status);
  return expect_count(rank, wrong->reason, before.nccl_calls[wrong->reason] + 2);
}

static lampar_status fall_back_all(lampar_rank *rank, void *user) {
  (void)user;
  buffers b = {0};
  lampar_status status = buffers_open(rank, &b);
  for (int i = 0; i < WRONG_CALLS && status == LAMPAR_OK; ++i)
    status = fall_back(rank, &wrong_calls[i], &b);
  buffers_close(rank, &b);
  return status;
}

/* More than the workspace holds: as one row, and as rows that have a kernel. fp32, since NCCL's sum
 * of two has the same bits. */
static const lampar_check_call oversized[] = {
    {.dtype = LAMPAR_F32, .rows = 1, .hidden = BYTES_LIMIT / 4 + 1, .first = 3},
    {.dtype = LAMPAR_F32, .rows = 1, .hidden = 100, .first = 4},
    {.dtype = LAMPAR_F32, .rows = 270, .hidden = 16384, .first = 5},
    {.dtype = LAMPAR_F32, .rows = 2, .hidden = 7168, .first = 6},
    {.dtype = LAMPAR_F32, .rows = 258, .hidden = 16384, .first = 7, .gap = 8},
};
static const lampar_reason oversized_reasons[] = {LAMPAR_REASON_BYTES, LAMPAR_REASON_NONE,
                                                  LAMPAR_REASON_ROWS, LAMPAR_REASON_NONE,
                                                  LAMPAR_REASON_ROWS};
enum { OVERSIZED = sizeof oversized / sizeof oversized[0] };

static lampar_status run_oversized(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  for (size_t i = 0; i < OVERSIZED; ++i) {
    LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, &oversized[i], 1));
    const lampar_call call = lampar_batch_get(batch, 0);
    if (oversized_reasons[i] != LAMPAR_REASON_NONE)
      LAMPAR_TRY(expect_nccl(rank, &call, oversized_reasons[i]));
    LAMPAR_TRY(lampar_batch_run(batch, &fixture->data, &oversized[i], 1));
  }
  LAMPAR_TRY(expect_count(rank, LAMPAR_REASON_BYTES, 1));
  LAMPAR_TRY(expect_count(rank, LAMPAR_REASON_ROWS, 2));

  /* Captured, between calls that kernels take. */
  for (size_t i = 0; i < OVERSIZED; ++i) {
    lampar_rank_graph graph = {0};
    LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, &oversized[i], 1));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(lampar_rank_graph_begin(rank));
    lampar_status status = lampar_batch_enqueue(batch, 0);
    status = lampar_rank_graph_end(rank, status, &graph);
    if (status == LAMPAR_OK) status = lampar_rank_graph_launch(rank, &graph);
    if (status == LAMPAR_OK) status = lampar_rank_graph_launch(rank, &graph);
    if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
    if (status == LAMPAR_OK) status = lampar_batch_compare(batch);
    lampar_rank_graph_free(rank, &graph);
    LAMPAR_TRY(status);
  }
  return LAMPAR_OK;
}

lampar_status check_fallback(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  config.strict = 0;
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, NULL));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  LAMPAR_TRY(lampar_ranks_run(fixture->ranks, fall_back_all, NULL));
  *calls += WRONG_CALLS * 4;
  LAMPAR_TRY(lampar_ranks_run(fixture->ranks, run_oversized, fixture));
  *calls += 3 * OVERSIZED;
  return LAMPAR_OK;
}

static lampar_status refuse_all(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, &oversized[0], 1));
  LAMPAR_TRY(expect_status(lampar_batch_enqueue(batch, 0), LAMPAR_ERROR_NO_KERNEL,
                           "an oversized call of a strict group"));
  for (int i = 0; i < WRONG_CALLS; ++i) {
    lampar_call call = lampar_batch_get(batch, 0);
    call.hidden = ELEMENTS - 1; /* even: aligned for any type */
    call.dtype = wrong_calls[i].dtype;
    call.op = wrong_calls[i].op;
    LAMPAR_TRY(expect_status(lampar_all_reduce(rank->group, &call, rank->stream[0]),
                             LAMPAR_ERROR_NO_KERNEL, "a wrong call of a strict group"));
  }
  /* Nothing was enqueued, and the group goes on. */
  return lampar_batch_run(batch, &fixture->data, &oversized[1], 1);
}

/* Refused calls come back at once, with and without NCCL behind the group. */
lampar_status check_strict(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  for (int strict = 0; strict < 2; ++strict) {
    config.strict = strict; /* without a communicator every group is */
    LAMPAR_TRY(fixture_open_group(fixture, &config));
    LAMPAR_TRY(lampar_ranks_run(fixture->ranks, refuse_all, fixture));
    LAMPAR_TRY(lampar_ranks_close_group(fixture->ranks));
    *calls += WRONG_CALLS + 2;
  }
  if (lampar_ranks_gpu_count(fixture->ranks) < world) return LAMPAR_OK;
  LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, NULL));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  *calls += WRONG_CALLS + 2;
  return lampar_ranks_run(fixture->ranks, refuse_all, fixture);
}
