#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#include "pack/dtype.h"

lampar_status fixture_open(fixture *fixture) {
  LAMPAR_TRY(lampar_ranks_create(0, RANKS, 0, &fixture->ranks));
  LAMPAR_TRY(lampar_pack_open(fixture->pack_path, &fixture->pack));
  LAMPAR_TRY(lampar_pack_open(fixture->other_path, &fixture->other));
  return lampar_batches_create(fixture->ranks, BUFFER_BYTES, &fixture->batches);
}

static void forget_samples(fixture *fixture) {
  for (int d = 0; d < LAMPAR_BATCH_DTYPES; ++d) {
    lampar_samples_destroy(&fixture->finite[d]);
    fixture->data.plain[d] = NULL;
  }
}

void fixture_close(fixture *fixture) {
  forget_samples(fixture);
  lampar_batches_destroy(fixture->batches);
  lampar_ranks_destroy(fixture->ranks);
  lampar_pack_close(fixture->other);
  lampar_pack_close(fixture->pack);
}

lampar_status fixture_use_world(fixture *fixture, int world) {
  if (fixture->data.plain[0] != NULL && fixture->finite[0].world == world) return LAMPAR_OK;
  forget_samples(fixture);
  for (uint32_t d = 0; d < LAMPAR_BATCH_DTYPES; ++d) {
    const uint64_t seed = 0x1a3b + d;
    LAMPAR_TRY(lampar_samples_create(d, world, SAMPLE_BYTES / lampar_dtype_bytes(d),
                                     lampar_sample_finite, &seed, &fixture->finite[d]));
    fixture->data.plain[d] = &fixture->finite[d];
  }
  return LAMPAR_OK;
}

lampar_group_config fixture_config(void) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  return config;
}

lampar_status fixture_open_group(fixture *fixture, const lampar_group_config *config) {
  return lampar_ranks_open_group(fixture->ranks, &fixture->pack, 1, config);
}

lampar_status fixture_query(fixture *fixture, uint32_t dtype, uint64_t rows, uint64_t hidden,
                            lampar_answer *answer) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.dtype = (lampar_dtype)dtype;
  call.rows = rows;
  call.hidden = hidden;
  *answer = (lampar_answer)LAMPAR_ANSWER_INIT;
  return lampar_query(lampar_ranks_at(fixture->ranks, 0)->group, &call, answer);
}

lampar_status expect_status(lampar_status got, lampar_status expected, const char *what) {
  if (got == expected) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "%s: %s%s%s%s, expected: %s", what,
                     lampar_status_string(got), got != LAMPAR_OK ? " (" : "",
                     got != LAMPAR_OK ? lampar_last_error() : "", got != LAMPAR_OK ? ")" : "",
                     lampar_status_string(expected));
}

void call_list_add(call_list *list, lampar_check_call call) {
  if (list->capacity == 0) list->complete = true;
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
    lampar_check_call *calls = realloc(list->calls, capacity * sizeof *calls);
    if (calls == NULL) {
      list->complete = false;
      return;
    }
    list->calls = calls;
    list->capacity = capacity;
  }
  list->calls[list->count++] = call;
}

void call_list_free(call_list *list) {
  free(list->calls);
  *list = (call_list){0};
}

lampar_status call_list_run(call_list *list, fixture *fixture, uint64_t *calls) {
  lampar_status status = LAMPAR_OK;
  if (!list->complete)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a list of calls");
  if (status == LAMPAR_OK)
    status =
        lampar_batches_run(fixture->batches, &fixture->data, list->calls, list->count, NULL, NULL);
  if (status == LAMPAR_OK) *calls += list->count;
  call_list_free(list);
  return status;
}

uint64_t next_random(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t random_first(uint64_t *state, uint32_t dtype, uint64_t elements) {
  const uint64_t all = SAMPLE_BYTES / lampar_dtype_bytes(dtype);
  return next_random(state) % (all - elements + 1);
}
