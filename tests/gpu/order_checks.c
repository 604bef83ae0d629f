/* Streams and lanes: calls of one group never overlap in one lane. */
#include "checks.h"

#include <string.h>

/* Every call on another stream than the one before. */
lampar_status check_two_streams(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  call_list list = {0};
  uint64_t random = 10;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint64_t elements = 1 + next_random(&random) % 40000;
    call_list_add(&list, (lampar_check_call){.dtype = i % 3,
                                             .rows = 1,
                                             .hidden = elements,
                                             .first = random_first(&random, i % 3, elements),
                                             .stream = i / 3 % 2});
  }
  return call_list_run(&list, fixture, calls);
}

/* Makes the second stream part of the first one's capture (`join` false), or the reverse. */
static lampar_status follow(lampar_rank *rank, bool join) {
  const lampar_driver *driver = rank->driver;
  struct CUevent_st *event;
  LAMPAR_TRY(lampar_driver_check(driver, driver->event_create(&event, LAMPAR_EVENT_DISABLE_TIMING),
                                 "cuEventCreate"));
  lampar_status status = lampar_driver_check(
      driver, driver->event_record(event, rank->stream[join ? 1 : 0]), "cuEventRecord");
  if (status == LAMPAR_OK)
    status =
        lampar_driver_check(driver, driver->stream_wait_event(rank->stream[join ? 0 : 1], event, 0),
                            "cuStreamWaitEvent");
  driver->event_destroy(event);
  return status;
}

/* In one capture: a call on the first stream, then on the second one that forked from it. */
static lampar_status capture_both(lampar_rank *rank, lampar_batch *batch, lampar_status expected,
                                  lampar_rank_graph *graph) {
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = lampar_batch_enqueue(batch, 0);
  if (status == LAMPAR_OK) status = follow(rank, false);
  if (status == LAMPAR_OK)
    status =
        expect_status(lampar_batch_enqueue(batch, 1), expected, "a second stream in a capture");
  const lampar_status joined = follow(rank, true);
  return lampar_rank_graph_end(rank, status != LAMPAR_OK ? status : joined, graph);
}

static const lampar_check_call pair[] = {
    {.dtype = LAMPAR_BF16, .rows = 3, .hidden = 7168, .first = 11},
    {.dtype = LAMPAR_F32, .rows = 1, .hidden = 5001, .first = 12, .stream = 1},
};

static lampar_status refuse_second_stream(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  lampar_rank_graph graph = {0};
  LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, pair, 2));
  const lampar_status status = capture_both(rank, batch, LAMPAR_ERROR_CAPTURE, &graph);
  lampar_rank_graph_free(rank, &graph);
  LAMPAR_TRY(status);
  /* The group is as it was. */
  return lampar_batch_run(batch, &fixture->data, pair, 2);
}

lampar_status check_two_streams_captured(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  *calls += 4;
  return lampar_ranks_run(fixture->ranks, refuse_second_stream, fixture);
}

static lampar_status run_lanes(lampar_rank *rank, void *user) {
  fixture *fixture = user;
  lampar_batch *batch = lampar_batches_get(fixture->batches, rank);
  lampar_check_call both[2];
  memcpy(both, pair, sizeof both);
  both[1].lane = 1;
  lampar_rank_graph graph = {0};
  LAMPAR_TRY(lampar_batch_prepare(batch, &fixture->data, both, 2));
  LAMPAR_TRY(lampar_rank_barrier(rank));
  lampar_status status = capture_both(rank, batch, LAMPAR_OK, &graph);
  for (int i = 0; i < 20 && status == LAMPAR_OK; ++i) {
    both[0].first += 100;
    both[1].first += 100;
    status = lampar_batch_prepare(batch, &fixture->data, both, 2);
    if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
    if (status == LAMPAR_OK) status = lampar_rank_graph_launch(rank, &graph);
    if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
    if (status == LAMPAR_OK) status = lampar_batch_compare(batch);
  }
  lampar_rank_graph_free(rank, &graph);
  LAMPAR_TRY(status);

  lampar_call call = lampar_batch_get(batch, 0);
  call.lane = 2;
  return expect_status(lampar_all_reduce(rank->group, &call, rank->stream[0]),
                       LAMPAR_ERROR_ARGUMENT, "a lane that the group does not have");
}

/* Two lanes on two streams at once, eagerly and in one graph. */
lampar_status check_lanes(fixture *fixture, int world, uint64_t *calls) {
  lampar_group_config config = fixture_config();
  config.lanes = 2;
  LAMPAR_TRY(fixture_use_world(fixture, world));
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  call_list list = {0};
  uint64_t random = 13;
  for (uint32_t i = 0; i < 500; ++i) {
    const uint64_t elements = 1 + next_random(&random) % 20000;
    call_list_add(&list, (lampar_check_call){.dtype = i % 3,
                                             .rows = 1,
                                             .hidden = elements,
                                             .first = random_first(&random, i % 3, elements),
                                             .lane = i % 2,
                                             .stream = i % 2});
  }
  LAMPAR_TRY(call_list_run(&list, fixture, calls));
  *calls += 40;
  return lampar_ranks_run(fixture->ranks, run_lanes, fixture);
}
