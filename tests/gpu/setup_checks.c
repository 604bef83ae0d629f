/* Creating groups: the same one again, not during a capture, and all ranks together or none. */
#include "checks.h"

#include <stdlib.h>
#include <string.h>

static const lampar_check_call small_call = {
    .dtype = LAMPAR_BF16, .rows = 2, .hidden = 7168, .first = 21};

/* One call of the open group has the right sum. */
static lampar_status run_small(fixture *fixture, uint64_t *calls) {
  LAMPAR_TRY(lampar_batches_run(fixture->batches, &fixture->data, &small_call, 1, NULL, NULL));
  ++*calls;
  return LAMPAR_OK;
}

typedef struct creation {
  fixture *fixture;
  lampar_group_config config;
} creation;

static lampar_status create(lampar_rank *rank, const creation *plan, lampar_group **group) {
  lampar_group_config config = plan->config;
  if (rank->comm == NULL) config.exchange = rank->exchange;
  return lampar_group_create(group, rank->comm, &plan->fixture->pack, 1, &config);
}

static lampar_status create_again(lampar_rank *rank, void *user) {
  lampar_group *again = NULL;
  LAMPAR_TRY(create(rank, user, &again));
  if (again != rank->group)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "a second creation gave another group");
  LAMPAR_TRY(lampar_rank_barrier(rank));
  return lampar_group_destroy(again); /* gives one reference back; the group stays */
}

lampar_status check_second_creation(fixture *fixture, int world, uint64_t *calls) {
  creation plan = {fixture, fixture_config()};
  LAMPAR_TRY(fixture_use_world(fixture, world));
  for (int nccl = 0; nccl < 2 && (nccl == 0 || lampar_ranks_gpu_count(fixture->ranks) >= world);
       ++nccl) {
    if (nccl) LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, NULL));
    LAMPAR_TRY(fixture_open_group(fixture, &plan.config));
    LAMPAR_TRY(lampar_ranks_run(fixture->ranks, create_again, &plan));
    LAMPAR_TRY(run_small(fixture, calls));
    LAMPAR_TRY(lampar_ranks_close_group(fixture->ranks));
  }
  return LAMPAR_OK;
}

static lampar_status create_in_capture(lampar_rank *rank, void *user) {
  lampar_group *group = NULL;
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  const lampar_status created = create(rank, user, &group);
  const lampar_status status =
      expect_status(created, LAMPAR_ERROR_CAPTURE, "creating a group during a capture");
  /* The refusal may have spoilt the capture: that is the driver's doing, and no error of ours. */
  struct CUgraph_st *graph = NULL;
  rank->driver->stream_end_capture(rank->stream[0], &graph);
  if (graph != NULL) rank->driver->graph_destroy(graph);
  if (status == LAMPAR_OK && group != NULL)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "a refused creation left a group");
  return status;
}

lampar_status check_creation_in_capture(fixture *fixture, int world, uint64_t *calls) {
  creation plan = {fixture, fixture_config()};
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(lampar_ranks_run(fixture->ranks, create_in_capture, &plan));
  LAMPAR_TRY(fixture_open_group(fixture, &plan.config));
  return run_small(fixture, calls);
}

/* What makes the last rank another than the rest. */
typedef struct difference {
  fixture *fixture;
  bool packs;
  lampar_group_config config, last;
} difference;

static lampar_status create_different(lampar_rank *rank, void *user) {
  const difference *plan = user;
  const bool is_last = rank->rank == rank->world - 1;
  lampar_group_config config = is_last ? plan->last : plan->config;
  lampar_pack *pack = is_last && plan->packs ? plan->fixture->other : plan->fixture->pack;
  if (rank->comm == NULL) config.exchange = rank->exchange;
  return lampar_group_create(&rank->group, rank->comm, &pack, 1, &config);
}

static lampar_status expect_reason(lampar_rank *rank, void *user) {
  const lampar_reason reason = *(const lampar_reason *)user;
  lampar_call call = LAMPAR_CALL_INIT;
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  call.dtype = LAMPAR_BF16;
  call.hidden = 100;
  LAMPAR_TRY(lampar_query(rank->group, &call, &answer));
  if (answer.path == LAMPAR_PATH_NCCL && answer.reason == reason) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "path %d, reason '%s', expected '%s'; report: %s",
                     (int)answer.path, lampar_reason_string(answer.reason),
                     lampar_reason_string(reason), lampar_group_report(rank->group));
}

static lampar_status expect_refusal(lampar_rank *rank, void *user) {
  lampar_batch *batch = lampar_batches_get(((fixture *)user)->batches, rank);
  LAMPAR_TRY(lampar_batch_prepare(batch, &((fixture *)user)->data, &small_call, 1));
  return expect_status(lampar_batch_enqueue(batch, 0), LAMPAR_ERROR_NO_KERNEL,
                       "a call without kernels and without NCCL");
}

/* All ranks are on NCCL for this reason: with a communicator the sums are right, without one the
 * call is refused. Then a group that is as it should be works. */
static lampar_status expect_all_on_nccl(fixture *fixture, int world, difference *plan,
                                        lampar_reason reason, uint64_t *calls) {
  LAMPAR_TRY(fixture_use_world(fixture, world));
  for (int nccl = 0; nccl < 2 && (nccl == 0 || lampar_ranks_gpu_count(fixture->ranks) >= world);
       ++nccl) {
    if (nccl) LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, NULL));
    LAMPAR_TRY(lampar_ranks_run(fixture->ranks, create_different, plan));
    LAMPAR_TRY(lampar_ranks_run(fixture->ranks, expect_reason, &reason));
    if (nccl) LAMPAR_TRY(run_small(fixture, calls));
    else LAMPAR_TRY(lampar_ranks_run(fixture->ranks, expect_refusal, fixture));
    LAMPAR_TRY(lampar_ranks_close_group(fixture->ranks));
  }
  return LAMPAR_OK;
}

static difference difference_of(fixture *fixture) {
  difference plan = {.fixture = fixture, .config = fixture_config()};
  plan.config.strict = 0;
  plan.last = plan.config;
  return plan;
}

lampar_status check_packs_differ(fixture *fixture, int world, uint64_t *calls) {
  difference plan = difference_of(fixture);
  plan.packs = true;
  LAMPAR_TRY(expect_all_on_nccl(fixture, world, &plan, LAMPAR_REASON_RANKS_DISAGREE, calls));
  LAMPAR_TRY(fixture_open_group(fixture, &plan.config));
  return run_small(fixture, calls);
}

lampar_status check_configs_differ(fixture *fixture, int world, uint64_t *calls) {
  difference plan = difference_of(fixture);
  plan.last.max_rows = 16;
  LAMPAR_TRY(expect_all_on_nccl(fixture, world, &plan, LAMPAR_REASON_RANKS_DISAGREE, calls));
  LAMPAR_TRY(fixture_open_group(fixture, &plan.config));
  return run_small(fixture, calls);
}

lampar_status check_not_enabled(fixture *fixture, int world, uint64_t *calls) {
  difference plan = difference_of(fixture);
  plan.config.enable = plan.last.enable = 0;
  return expect_all_on_nccl(fixture, world, &plan, LAMPAR_REASON_NOT_ENABLED, calls);
}

lampar_status check_expert_parallelism(fixture *fixture, int world, uint64_t *calls) {
  difference plan = difference_of(fixture);
  plan.config.contains_expert_parallelism = plan.last.contains_expert_parallelism = 1;
  return expect_all_on_nccl(fixture, world, &plan, LAMPAR_REASON_EXPERT_PARALLELISM, calls);
}

lampar_status check_disabled(fixture *fixture, int world, uint64_t *calls) {
  difference plan = difference_of(fixture);
  setenv("LAMPAR_DISABLE", "1", 1);
  const lampar_status status =
      expect_all_on_nccl(fixture, world, &plan, LAMPAR_REASON_DISABLED, calls);
  unsetenv("LAMPAR_DISABLE");
  return status;
}

/* Over NCCL, the messages of set-up reach all ranks, also those of a rank that has no context or is
 * capturing a stream. One rank is enough to see that NCCL takes the channel's memory and context.
 */
static lampar_status create_over_nccl(lampar_rank *rank, void *user) {
  creation plan = {.fixture = user, .config = fixture_config()};
  lampar_group *group = NULL;
  plan.config.strict = 0;
  LAMPAR_TRY(create(rank, &plan, &group));
  const char *report = lampar_group_report(group);
  if (strstr(report, "a group of one rank has nothing to exchange") == NULL)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "report: %s", report);
  LAMPAR_TRY(lampar_group_destroy(group));

  rank->driver->context_set_current(NULL);
  const lampar_status created = create(rank, &plan, &group);
  rank->driver->context_set_current(rank->context);
  LAMPAR_TRY(expect_status(created, LAMPAR_ERROR_ARGUMENT, "creating a group without a context"));
  if (strstr(lampar_last_error(), "rank 0, step start: ") == NULL)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "message: %s", lampar_last_error());
  return create_in_capture(rank, &plan);
}

lampar_status check_one_rank_over_nccl(fixture *fixture, int world, uint64_t *calls) {
  (void)world, (void)calls;
  LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, NULL));
  return lampar_ranks_run(fixture->ranks, create_over_nccl, fixture);
}

static lampar_status make_bad_calls(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, &small_call, 1));
  const lampar_call good = lampar_batch_get(batch, 0);
  lampar_call bad[7];
  for (size_t i = 0; i < 7; ++i) bad[i] = good;
  bad[0].input = NULL;
  bad[1].output = NULL;
  bad[2].size = 0;
  bad[3].dtype = (lampar_dtype)99;
  bad[4].input = (const char *)good.input + 1;
  bad[5].output_stride = good.hidden - 1;
  bad[6].lane = 1;
  for (size_t i = 0; i < 7; ++i)
    LAMPAR_TRY(expect_status(lampar_all_reduce(rank->group, &bad[i], rank->stream[0]),
                             LAMPAR_ERROR_ARGUMENT, "a bad call"));
  lampar_call nothing = good;
  nothing.rows = 0;
  LAMPAR_TRY(lampar_all_reduce(rank->group, &nothing, rank->stream[0]));
  return lampar_batch_run(batch, &fixture->data, &small_call, 1);
}

/* Bad calls are refused on the spot, a call of no rows does nothing, and the group goes on. */
lampar_status check_arguments(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  *calls += 9;
  return lampar_ranks_run(fixture->ranks, make_bad_calls, fixture);
}
