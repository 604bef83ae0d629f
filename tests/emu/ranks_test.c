/* What ranks can do to each other, on the emulated device: ranks_test PACK CASE, exit status 0 when
 *
 *   two-groups   two groups of the same ranks at work at once: sums are right
 *   nccl-alone   one rank goes to NCCL by itself: every rank gets its report
 *   other-rows   one rank calls with other rows: the others name it
 *   fallback     calls that no kernel takes: NCCL's sums are right
 *   processes    two ranks, a process each: the kernels' and NCCL's sums are right
 *
 * Inputs are constants, so that a sum is one number. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "verify/ranks.h"

enum {
  WORLD = 3,
  HIDDEN = 328,
  ROWS = 24,
  CALLS = 6,
  GROUPS = 2,
  WATCHDOG_MS = 1000,
  EXCHANGE_MS = 60000
};

typedef struct buffer {
  lampar_device_pointer input, output;
  float *host;
  size_t words;
} buffer;

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static lampar_status buffer_open(buffer *buffer, const lampar_rank *rank, size_t words, float value,
                                 struct CUstream_st *stream) {
  const lampar_driver *driver = rank->driver;
  buffer->words = words;
  buffer->host = calloc(words, sizeof *buffer->host);
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->memory_alloc(&buffer->input, words * 4), "cuMemAlloc"));
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->memory_alloc(&buffer->output, words * 4), "cuMemAlloc"));
  return lampar_rank_check(rank,
                           driver->memset_d32_async(buffer->input, bits_of(value), words, stream),
                           "cuMemsetD32Async");
}

static void buffer_close(buffer *buffer, const lampar_rank *rank) {
  rank->driver->memory_free(buffer->input);
  rank->driver->memory_free(buffer->output);
  free(buffer->host);
}

static lampar_status buffer_check(const buffer *buffer, const lampar_rank *rank, float expected,
                                  struct CUstream_st *stream) {
  const lampar_driver *driver = rank->driver;
  LAMPAR_TRY(lampar_rank_check(
      rank, driver->copy_to_host_async(buffer->host, buffer->output, buffer->words * 4, stream),
      "cuMemcpyDtoHAsync"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->stream_synchronize(stream), "cuStreamSynchronize"));
  for (size_t i = 0; i < buffer->words; ++i)
    if (buffer->host[i] != expected)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "rank %d: wrong sum: element %zu is %g, expected %g",
                         rank->rank, i, (double)buffer->host[i], (double)expected);
  return LAMPAR_OK;
}

static lampar_call call_of(const buffer *buffer, uint64_t rows) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)buffer->input;
  call.output = (void *)(uintptr_t)buffer->output;
  call.rows = rows;
  call.hidden = HIDDEN;
  call.dtype = LAMPAR_F32;
  return call;
}

static lampar_group_config config_of(uint32_t max_rows) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.max_rows = max_rows;
  return config;
}

typedef struct two {
  lampar_pack *pack;
  lampar_local_exchange *pair; /* of ranks 0 and 1 */
} two;

/* All ranks are in one group, the first two in a second one as well. Each has its own constants: a
 * word of the other group would show. */
static lampar_status two_groups(lampar_rank *rank, void *user) {
  two *given = user;
  const int groups = rank->rank < 2 ? GROUPS : 1;
  lampar_group *group[GROUPS] = {0};
  buffer buffers[GROUPS] = {0};
  const float scale[GROUPS] = {1, 10}, expected[GROUPS] = {6, 30};
  lampar_status status = LAMPAR_OK;
  for (int g = 0; g < groups && status == LAMPAR_OK; ++g) {
    lampar_group_config config = config_of(ROWS);
    config.exchange = g == 0 ? rank->exchange : lampar_local_exchange_rank(given->pair, rank->rank);
    status = lampar_group_create(&group[g], NULL, &given->pack, 1, &config);
    if (status == LAMPAR_OK)
      status = buffer_open(&buffers[g], rank, ROWS * HIDDEN, scale[g] * (float)(rank->rank + 1),
                           rank->stream[g]);
  }
  for (int i = 0; i < CALLS && status == LAMPAR_OK; ++i)
    for (int g = 0; g < groups && status == LAMPAR_OK; ++g) {
      const lampar_call call = call_of(&buffers[g], ROWS);
      status = lampar_all_reduce(group[g], &call, rank->stream[g]);
    }
  for (int g = 0; g < groups && status == LAMPAR_OK; ++g) {
    status = buffer_check(&buffers[g], rank, expected[g], rank->stream[g]);
    if (status == LAMPAR_OK) status = lampar_group_error(group[g], NULL);
  }
  for (int g = 0; g < groups; ++g) lampar_group_destroy(group[g]);
  for (int g = 0; g < groups; ++g) buffer_close(&buffers[g], rank);
  return status;
}

static lampar_status run_two_groups(lampar_ranks *ranks, lampar_pack *pack) {
  two given = {.pack = pack};
  LAMPAR_TRY(lampar_local_exchange_create(2, EXCHANGE_MS, &given.pair));
  const lampar_status status = lampar_ranks_run(ranks, two_groups, &given);
  lampar_local_exchange_destroy(given.pair);
  return status;
}

typedef struct odd_one {
  lampar_pack *pack;
  bool goes_to_nccl; /* else it calls with fewer rows */
  char report[WORLD][256];
  lampar_status status[WORLD];
} odd_one;

static lampar_status call_oddly(lampar_rank *rank, void *user) {
  odd_one *odd = user;
  lampar_group *group = NULL;
  buffer buffer = {0};
  lampar_nccl nccl;
  lampar_group_config config = config_of(0);
  LAMPAR_TRY(lampar_nccl_open(&nccl));
  LAMPAR_TRY(lampar_group_create(&group, rank->comm, &odd->pack, 1, &config));
  LAMPAR_TRY(buffer_open(&buffer, rank, ROWS * HIDDEN, 1, rank->stream[0]));
  const bool is_odd = rank->rank == 1;
  const lampar_call call = call_of(&buffer, is_odd ? ROWS / 2 : ROWS);
  lampar_status status = LAMPAR_OK;
  if (is_odd && odd->goes_to_nccl)
    status = lampar_nccl_check(
        &nccl,
        nccl.all_reduce(call.input, call.output, ROWS * HIDDEN, lampar_nccl_dtype(LAMPAR_F32),
                        lampar_nccl_op(LAMPAR_SUM), rank->comm, rank->stream[0]),
        "ncclAllReduce");
  else status = lampar_all_reduce(group, &call, rank->stream[0]);
  if (status == LAMPAR_OK)
    status = lampar_rank_check(rank, rank->driver->stream_synchronize(rank->stream[0]),
                               "cuStreamSynchronize");
  if (status == LAMPAR_OK) status = lampar_group_error(group, NULL);
  odd->status[rank->rank] = status;
  if (status != LAMPAR_OK)
    snprintf(odd->report[rank->rank], sizeof odd->report[0], "%s", lampar_last_error());
  lampar_group_destroy(group);
  buffer_close(&buffer, rank);
  return LAMPAR_OK;
}

/* Ranks 0 and 2 must name rank 1. Alone in NCCL, rank 1 must get an error as well. */
static lampar_status odd_rank(lampar_ranks *ranks, lampar_pack *pack, bool goes_to_nccl) {
  odd_one odd = {.pack = pack, .goes_to_nccl = goes_to_nccl};
  LAMPAR_TRY(lampar_ranks_run(ranks, call_oddly, &odd));
  for (int r = 0; r < WORLD; ++r) {
    printf("rank %d: %s\n", r, odd.status[r] == LAMPAR_OK ? "no error" : odd.report[r]);
    const char *expected = r != 1         ? "timed out waiting for rank 1 "
                           : goes_to_nccl ? "CUDA_ERROR_LAUNCH"
                                          : "";
    if (!strstr(odd.report[r], expected))
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "rank %d: expected a report with '%s'", r, expected);
  }
  return LAMPAR_OK;
}

/* Too many rows for the group's kernels, on a stream and in a graph. */
static lampar_status fallback(lampar_rank *rank, void *user) {
  lampar_pack *pack = user;
  lampar_group *group = NULL;
  buffer buffer = {0};
  struct CUgraph_st *graph;
  struct CUgraphExec_st *executable;
  struct CUstream_st *stream = rank->stream[0];
  const lampar_driver *driver = rank->driver;
  const uint64_t rows = 100 * ROWS;
  lampar_group_config config = config_of(0);
  LAMPAR_TRY(lampar_group_create(&group, rank->comm, &pack, 1, &config));
  LAMPAR_TRY(buffer_open(&buffer, rank, rows * HIDDEN, (float)(rank->rank + 1), stream));
  lampar_call call = call_of(&buffer, rows);
  LAMPAR_TRY(lampar_all_reduce(group, &call, stream));
  LAMPAR_TRY(buffer_check(&buffer, rank, 6, stream));

  call.input = call.output;
  LAMPAR_TRY(lampar_rank_check(
      rank, driver->stream_begin_capture(stream, LAMPAR_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture"));
  LAMPAR_TRY(lampar_all_reduce(group, &call, stream));
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->stream_end_capture(stream, &graph), "cuStreamEndCapture"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->graph_instantiate(&executable, graph, 0),
                               "cuGraphInstantiate"));
  for (int i = 0; i < 2; ++i)
    LAMPAR_TRY(lampar_rank_check(rank, driver->graph_launch(executable, stream), "cuGraphLaunch"));
  LAMPAR_TRY(buffer_check(&buffer, rank, 54, stream));
  driver->graph_executable_destroy(executable);
  driver->graph_destroy(graph);

  lampar_stats stats = LAMPAR_STATS_INIT;
  LAMPAR_TRY(lampar_group_stats(group, &stats));
  if (stats.nccl_bytes != 2 * rows * HIDDEN * 4)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "rank %d: NCCL took %llu bytes", rank->rank,
                       (unsigned long long)stats.nccl_bytes);
  LAMPAR_TRY(lampar_group_destroy(group));
  buffer_close(&buffer, rank);
  return LAMPAR_OK;
}

/* Kernels over memory of the other process, then NCCL. */
static lampar_status across_processes(lampar_rank *rank, void *user) {
  lampar_pack *pack = user;
  lampar_group *group = NULL;
  struct CUstream_st *stream = rank->stream[0];
  const uint64_t rows[] = {ROWS, 1, 100 * ROWS};
  lampar_group_config config = config_of(0);
  LAMPAR_TRY(lampar_group_create(&group, rank->comm, &pack, 1, &config));
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    buffer buffer = {0};
    LAMPAR_TRY(buffer_open(&buffer, rank, rows[i] * HIDDEN, (float)(rank->rank + 1), stream));
    const lampar_call call = call_of(&buffer, rows[i]);
    for (int k = 0; k < CALLS; ++k) LAMPAR_TRY(lampar_all_reduce(group, &call, stream));
    LAMPAR_TRY(buffer_check(&buffer, rank, 3, stream));
    buffer_close(&buffer, rank);
  }
  lampar_stats stats = LAMPAR_STATS_INIT;
  LAMPAR_TRY(lampar_group_stats(group, &stats));
  if (stats.kernel_calls != 2 * CALLS)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "rank %d: %llu calls by kernels", rank->rank,
                       (unsigned long long)stats.kernel_calls);
  return lampar_group_destroy(group);
}

static lampar_status run_process(int rank, const char *pack_path, const int *ends) {
  lampar_pack *pack = NULL;
  lampar_ranks *ranks = NULL;
  lampar_nccl nccl;
  lampar_nccl_id id;
  lampar_status status = lampar_pack_open(pack_path, &pack);
  if (status == LAMPAR_OK) status = lampar_ranks_create(rank, 1, rank, &ranks);
  if (status == LAMPAR_OK) status = lampar_nccl_open(&nccl);
  if (status == LAMPAR_OK && rank == 0)
    status = lampar_nccl_check(&nccl, nccl.unique_id(&id), "ncclGetUniqueId");
  if (status == LAMPAR_OK) {
    const bool passed = rank == 0 ? write(ends[1], &id, sizeof id) == sizeof id
                                  : read(ends[0], &id, sizeof id) == sizeof id;
    if (!passed) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "the id was not passed on");
  }
  if (status == LAMPAR_OK) status = lampar_ranks_set_world(ranks, 2);
  if (status == LAMPAR_OK) status = lampar_ranks_connect(ranks, &id);
  if (status == LAMPAR_OK) status = lampar_ranks_run(ranks, across_processes, pack);
  if (status != LAMPAR_OK) printf("rank %d: %s\n", rank, lampar_last_error());
  if (ranks) lampar_ranks_disconnect(ranks);
  lampar_ranks_destroy(ranks);
  lampar_pack_close(pack);
  return status;
}

static lampar_status run_processes(const char *pack_path) {
  int ends[2], status;
  if (pipe(ends) != 0) return lampar_fail(LAMPAR_ERROR_SYSTEM, "no pipe");
  const pid_t child = fork();
  if (child < 0) return lampar_fail(LAMPAR_ERROR_SYSTEM, "no process");
  if (child == 0) exit(run_process(1, pack_path, ends) != LAMPAR_OK);
  LAMPAR_TRY(run_process(0, pack_path, ends));
  if (waitpid(child, &status, 0) == child && status == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "the other process failed");
}

static lampar_status run(const char *what, lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(lampar_ranks_set_world(ranks, WORLD));
  if (strcmp(what, "two-groups") == 0) return run_two_groups(ranks, pack);
  LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  if (strcmp(what, "nccl-alone") == 0) return odd_rank(ranks, pack, true);
  if (strcmp(what, "other-rows") == 0) return odd_rank(ranks, pack, false);
  if (strcmp(what, "fallback") == 0) return lampar_ranks_run(ranks, fallback, pack);
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: no such case", what);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    puts("two-groups\nnccl-alone\nother-rows\nfallback\nprocesses");
    return 0;
  }
  if (argc != 3) {
    fprintf(stderr, "usage: ranks_test PACK CASE\n");
    return 2;
  }
  lampar_pack *pack = NULL;
  lampar_ranks *ranks = NULL;
  setenv("LAMPAR_DEVICE", "emu", 1);
  const bool is_forked = strcmp(argv[2], "processes") == 0; /* before there is a thread */
  lampar_status status = is_forked ? run_processes(argv[1]) : lampar_pack_open(argv[1], &pack);
  if (status == LAMPAR_OK && !is_forked) status = lampar_ranks_create(0, WORLD, 0, &ranks);
  if (status == LAMPAR_OK && !is_forked) status = run(argv[2], ranks, pack);
  printf("%s: %s\n", argv[2], status == LAMPAR_OK ? "right" : lampar_last_error());
  if (ranks) lampar_ranks_disconnect(ranks);
  lampar_ranks_destroy(ranks);
  lampar_pack_close(pack);
  return status != LAMPAR_OK;
}
