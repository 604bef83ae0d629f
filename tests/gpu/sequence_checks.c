/* What comes after what on one group: kernels that alternate, graphs that are replayed, calls that
 * depend on the call before. */
#include "checks.h"

#include <stdlib.h>

static const uint32_t hiddens[] = {2880, 4096, 5120, 7168, 8192, 16384};

/* A call of any kernel: small ones most of the time, some in place, some at odd addresses. */
static lampar_check_call random_call(uint64_t *random) {
  const uint64_t bits = next_random(random);
  lampar_check_call call = {.dtype = (uint32_t)(bits % 3), .rows = 1};
  if (bits >> 8 & 1) {
    call.hidden = hiddens[(bits >> 16) % 6];
    call.rows = 1 + (bits >> 24) % (bits >> 40 & 7 ? 8 : 32);
  } else {
    const uint64_t limit = 1ull << (bits >> 16) % 18;
    call.hidden = limit + (bits >> 24) % limit;
  }
  call.first = random_first(random, call.dtype, call.rows * call.hidden);
  call.in_place = (bits >> 48 & 7) == 0;
  if ((bits >> 52 & 7) == 0) {
    call.input_shift = (uint32_t)(bits >> 56);
    call.output_shift = (uint32_t)(bits >> 60);
    call.rank_shift = 1;
  }
  return call;
}

static lampar_status run_random(fixture *fixture, size_t count, uint64_t seed, uint64_t *calls) {
  call_list list = {0};
  for (size_t i = 0; i < count; ++i) call_list_add(&list, random_call(&seed));
  return call_list_run(&list, fixture, calls);
}

/* 10,000 calls, every result compared. */
lampar_status check_alternating(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  return run_random(fixture, 10000, 6, calls);
}

/* The first `captured` calls of a batch are in a graph, the rest are made eagerly. */
typedef struct replay {
  fixture *fixture;
  uint64_t seed;
  size_t captured_count, eager_count;
  bool chained; /* each call of the graph takes the output of the one before */
  int replays;
} replay;

enum { BATCH_MAX = 64 };

/* The shapes stay, the inputs change. */
static void next_inputs(lampar_check_call *calls, size_t count, uint64_t *random) {
  for (size_t i = 0; i < count; ++i)
    calls[i].first = random_first(random, calls[i].dtype, calls[i].rows * calls[i].hidden);
}

static lampar_status replay_graph(lampar_rank *rank, lampar_batch *batch, const replay *plan,
                                  lampar_check_call *calls, uint64_t *random,
                                  lampar_rank_graph *graph) {
  const size_t count = plan->captured_count + plan->eager_count;
  for (int i = 0; i < plan->replays; ++i) {
    next_inputs(calls, count, random);
    LAMPAR_TRY(lampar_batch_prepare(batch, &plan->fixture->data, calls, count));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    /* Eager calls come before the graph in one replay and behind it in the next. */
    if (i % 2 == 0) LAMPAR_TRY(lampar_rank_graph_launch(rank, graph));
    for (size_t c = plan->captured_count; c < count; ++c)
      LAMPAR_TRY(lampar_batch_enqueue(batch, c));
    if (i % 2 != 0) LAMPAR_TRY(lampar_rank_graph_launch(rank, graph));
    LAMPAR_TRY(lampar_rank_barrier(rank));
    LAMPAR_TRY(lampar_batch_compare(batch));
  }
  return LAMPAR_OK;
}

static lampar_status run_replay(lampar_rank *rank, void *user) {
  const replay *plan = user;
  lampar_batch *batch = lampar_batches_get(plan->fixture->batches, rank);
  lampar_check_call calls[BATCH_MAX];
  uint64_t random = plan->seed;
  const size_t count = plan->captured_count + plan->eager_count;
  for (size_t i = 0; i < count; ++i) {
    calls[i] = random_call(&random);
    if (i == 0 || i >= plan->captured_count || !plan->chained) continue;
    calls[i] = calls[0];
    calls[i].chained = true;
    calls[i].in_place = i % 3 == 2;
  }
  LAMPAR_TRY(lampar_batch_prepare(batch, &plan->fixture->data, calls, count));

  lampar_rank_graph graph = {0};
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = LAMPAR_OK;
  for (size_t i = 0; i < plan->captured_count && status == LAMPAR_OK; ++i)
    status = lampar_batch_enqueue(batch, i);
  status = lampar_rank_graph_end(rank, status, &graph);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK) status = replay_graph(rank, batch, plan, calls, &random, &graph);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  lampar_rank_graph_free(rank, &graph);
  return status;
}

static lampar_status run_replays(fixture *fixture, replay plan, uint64_t *calls) {
  LAMPAR_TRY(lampar_ranks_run(fixture->ranks, run_replay, &plan));
  *calls += (uint64_t)plan.replays * (plan.captured_count + plan.eager_count);
  return LAMPAR_OK;
}

/* Graphs of 1, 2, 3 and 7 calls: with an odd number the halves of a mailbox swap from one replay to
 * the next. */
lampar_status check_graphs(fixture *fixture, int world, uint64_t *calls) {
  static const size_t counts[] = {1, 2, 3, 7};
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i)
    for (size_t eager = 0; eager < 3; ++eager)
      LAMPAR_TRY(run_replays(
          fixture,
          (replay){fixture, 100 * i + eager, counts[i], eager, false, eager == 1 ? 100 : 20},
          calls));
  return LAMPAR_OK;
}

/* Eager chains: a call that reads before the one before has stored gets other numbers. */
static lampar_status run_chains(fixture *fixture, uint64_t *calls) {
  static const struct {
    uint64_t rows, hidden;
  } shapes[] = {{1, 7168}, {1, 1000}, {16, 7168}, {64, 4096}, {1, 300001}};
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
      call_list list = {0};
      uint64_t random = 8 + s;
      for (size_t i = 0; i < 16; ++i)
        call_list_add(&list,
                      (lampar_check_call){
                          .dtype = dtype,
                          .rows = shapes[s].rows,
                          .hidden = shapes[s].hidden,
                          .first = random_first(&random, dtype, shapes[s].rows * shapes[s].hidden),
                          .in_place = i % 3 == 2,
                          .chained = i > 0});
      LAMPAR_TRY(call_list_run(&list, fixture, calls));
    }
  return LAMPAR_OK;
}

lampar_status check_chains(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  LAMPAR_TRY(run_chains(fixture, calls));
  for (uint64_t seed = 0; seed < 4; ++seed)
    LAMPAR_TRY(run_replays(fixture, (replay){fixture, seed, 12, 1, true, 25}, calls));
  return LAMPAR_OK;
}

/* The same with programmatic launch: the next kernel is on the device while this one still works.
 */
lampar_status check_programmatic(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  config.programmatic_launch = 1;
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  LAMPAR_TRY(run_random(fixture, 4000, 9, calls));
  LAMPAR_TRY(run_chains(fixture, calls));
  for (uint64_t seed = 0; seed < 12; ++seed)
    LAMPAR_TRY(run_replays(fixture, (replay){fixture, seed, 1 + seed, seed % 3, seed % 2 == 0, 50},
                           calls));
  return LAMPAR_OK;
}
