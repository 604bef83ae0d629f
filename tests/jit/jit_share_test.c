/* Ranks that build together: whatever fails on one rank, at whatever step, all ranks return its
 * status and message, and none waits for a rank that has left. Allocations fail on demand: the
 * linker gives malloc and calloc of the library to the functions below (--wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <lampar/lampar_jit.h>

#include "scratch.h"

enum { RANKS = 3, TIMEOUT_MS = 20000, SHORT_TIMEOUT_MS = 300, SECONDS_MAX = 30, CODE_BYTES = 4096 };

static const char text[] =
    "return spec { name = 'tiny', arch = { 'emu' }, world = { 2 }, dtype = { "
    "'bf16' }, hidden = { 64 } }";

/* ---- allocations that fail ---- */

static _Thread_local long allocations_left; /* until one fails; 0: none will */
static _Thread_local bool has_failed;

static bool fails_now(void) {
  if (allocations_left == 0 || --allocations_left > 0) return false;
  has_failed = true;
  return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size) {
  return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return fails_now() ? NULL : __real_calloc(count, size);
}

/* ---- ranks ---- */

typedef struct rank {
  pthread_t thread;
  const lampar_exchange *transport;
  lampar_exchange exchange; /* over it */
  lampar_jit_options options;
  lampar_jit_stats stats;
  const char *text, *name;
  bool wants_no_pack;
  long failing_allocation; /* 0: none */
  int failing_step;        /* 0: none */
  bool is_code_damaged;
  int steps;
  bool has_failed;
  lampar_pack *pack;
  lampar_status status;
  char message[1024];
} rank;

static const char *full; /* folder of a cache with all kernels */

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  rank *const r = user;
  if (++r->steps == r->failing_step) return EIO;
  const int result = r->transport->all_gather(r->transport->user, mine, all, bytes);
  if (r->is_code_damaged && bytes == CODE_BYTES) ((char *)all)[100] ^= 1;
  return result;
}

/* Rank 0 has all kernels and sends them to the others; nothing is compiled. */
static void prepare(rank ranks[RANKS]) {
  for (int i = 0; i < RANKS; ++i) {
    ranks[i] = (rank){.options = LAMPAR_JIT_OPTIONS_INIT,
                      .stats = LAMPAR_JIT_STATS_INIT,
                      .text = text,
                      .name = "config"};
    ranks[i].options.write_folder = "";
    ranks[i].options.read_folders = &full;
    ranks[i].options.read_folder_count = i == 0;
  }
}

static void *build(void *argument) {
  rank *const r = argument;
  r->options.exchange = &r->exchange;
  r->options.stats = &r->stats;
  allocations_left = r->failing_allocation;
  r->status = lampar_jit_build_text(r->text, r->name, "emu", &r->options,
                                    r->wants_no_pack ? NULL : &r->pack);
  allocations_left = 0;
  r->has_failed = has_failed;
  snprintf(r->message, sizeof r->message, "%s", lampar_last_error());
  return NULL;
}

static void run(rank ranks[RANKS], uint32_t timeout_ms) {
  struct timespec start, end;
  lampar_local_exchange *local;
  assert_int_equal(lampar_local_exchange_create(RANKS, timeout_ms, &local), LAMPAR_OK);
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < RANKS; ++i) {
    ranks[i].transport = lampar_local_exchange_rank(local, i);
    ranks[i].exchange = *ranks[i].transport;
    ranks[i].exchange.all_gather = all_gather;
    ranks[i].exchange.user = &ranks[i];
    assert_int_equal(pthread_create(&ranks[i].thread, NULL, build, &ranks[i]), 0);
  }
  for (int i = 0; i < RANKS; ++i) pthread_join(ranks[i].thread, NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  lampar_local_exchange_destroy(local);
  if (end.tv_sec - start.tv_sec > SECONDS_MAX)
    fail_msg("a rank returned after %ld s: %s", (long)(end.tv_sec - start.tv_sec),
             ranks[0].message);
}

/* All or none have a pack, and say the same. */
static void expect_agreement(const rank ranks[RANKS]) {
  for (int i = 0; i < RANKS; ++i) {
    if (ranks[i].status != ranks[0].status)
      fail_msg("rank 0: %d (%s), rank %d: %d (%s)", ranks[0].status, ranks[0].message, i,
               ranks[i].status, ranks[i].message);
    assert_int_equal(ranks[i].pack != NULL, ranks[i].status == LAMPAR_OK);
    if (ranks[i].status != LAMPAR_OK) assert_string_equal(ranks[i].message, ranks[0].message);
  }
}

static void expect_failure(const rank ranks[RANKS], int culprit, const char *step,
                           lampar_status status, const char *part) {
  char start[64];
  snprintf(start, sizeof start, "rank %d, step %s: ", culprit, step);
  expect_agreement(ranks);
  if (ranks[0].status != status || strncmp(ranks[0].message, start, strlen(start)) != 0 ||
      strstr(ranks[0].message, part) == NULL)
    fail_msg("status %d, without '%s' and '%s': %s", ranks[0].status, start, part,
             ranks[0].message);
}

static void close_packs(rank ranks[RANKS]) {
  for (int i = 0; i < RANKS; ++i) lampar_pack_close(ranks[i].pack);
}

/* ---- tests ---- */

static void kernels_come_from_the_rank_that_has_them(void **state) {
  (void)state;
  rank ranks[RANKS];
  prepare(ranks);
  run(ranks, TIMEOUT_MS);
  expect_agreement(ranks);
  for (int i = 0; i < RANKS; ++i) {
    if (ranks[i].status != LAMPAR_OK) fail_msg("%s", ranks[i].message);
    assert_int_equal(i == 0 ? ranks[i].stats.cached : ranks[i].stats.received,
                     lampar_pack_count(ranks[i].pack));
    assert_string_equal(lampar_pack_digest(ranks[i].pack), lampar_pack_digest(ranks[0].pack));
  }
  close_packs(ranks);
}

/* What is wrong on rank 1 alone, before its first step. */
static void without_text(rank *r) {
  r->text = NULL;
}
static void without_name(rank *r) {
  r->name = NULL;
}
static void without_pack(rank *r) {
  r->wants_no_pack = true;
}
static void with_bad_text(rank *r) {
  r->text = "return\nspec { name = 7 }";
}
static void with_bad_world(rank *r) {
  r->options.world = -1;
}
static void with_absent_world(rank *r) {
  r->options.world = 5;
}
static void with_bad_folders(rank *r) {
  r->options.read_folders = NULL;
  r->options.read_folder_count = 1;
}
static void with_bad_templates(rank *r) {
  r->options.templates = "/nowhere";
}

static void a_bad_request_of_one_rank_fails_all(void **state) {
  (void)state;
  static const struct {
    void (*spoil)(rank *r);
    const char *message;
  } cases[] = {
      {without_text, "text is NULL"},
      {without_name, "spec, name or pack is NULL"},
      {without_pack, "spec, name or pack is NULL"},
      {with_bad_text, "config:2: name"},
      {with_bad_world, "world -1 (0 to "},
      {with_absent_world, "no kernels for 5 ranks"},
      {with_bad_folders, "read_folders is NULL"},
      {with_bad_templates, "/nowhere"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    rank ranks[RANKS];
    prepare(ranks);
    cases[i].spoil(&ranks[1]);
    run(ranks, TIMEOUT_MS);
    expect_failure(ranks, 1, "sources", ranks[1].status, cases[i].message);
  }
}

static void bad_statistics_of_one_rank_fail_all(void **state) {
  (void)state;
  rank ranks[RANKS];
  prepare(ranks);
  ranks[2].stats.size = 0;
  run(ranks, TIMEOUT_MS);
  expect_failure(ranks, 2, "pack", LAMPAR_ERROR_ARGUMENT, "lampar_jit_stats");
}

static void other_kernels_on_one_rank_fail_all(void **state) {
  (void)state;
  rank ranks[RANKS];
  prepare(ranks);
  ranks[2].text =
      "return spec { name = 'tiny', arch = { 'emu' }, world = { 2 }, dtype = { 'f32' } }";
  run(ranks, TIMEOUT_MS);
  expect_agreement(ranks);
  assert_int_equal(ranks[0].status, LAMPAR_ERROR_ARGUMENT);
  assert_memory_equal(ranks[0].message, "rank 2 builds other kernels than rank 0", 39);
}

/* Every allocation that the ranks' own threads make, one after the other. */
static void an_allocation_that_fails_on_one_rank_fails_all(void **state) {
  (void)state;
  static const char *const steps[] = {"sources", "compiling", "memory", "pack"};
  for (int culprit = 0; culprit < 2; ++culprit) {
    unsigned seen[4] = {0};
    for (long n = 1;; ++n) {
      rank ranks[RANKS];
      char start[64];
      prepare(ranks);
      ranks[culprit].failing_allocation = n;
      run(ranks, TIMEOUT_MS);
      expect_agreement(ranks);
      close_packs(ranks);
      if (!ranks[culprit].has_failed) {
        assert_int_equal(ranks[0].status, LAMPAR_OK);
        break;
      }
      if (ranks[0].status == LAMPAR_OK || ranks[0].status == LAMPAR_ERROR_NO_KERNEL) continue;
      size_t step = 0;
      for (; step < 4; ++step) {
        snprintf(start, sizeof start, "rank %d, step %s: ", culprit, steps[step]);
        if (strncmp(ranks[0].message, start, strlen(start)) == 0) break;
      }
      if (step == 4 || strstr(ranks[0].message, "memory") == NULL)
        fail_msg("allocation %ld of rank %d: %s", n, culprit, ranks[0].message);
      ++seen[step];
    }
    /* Rank 0 compiles nothing and receives nothing. */
    for (size_t step = 0; step < 4; ++step)
      if (seen[step] == 0 && step != 1) fail_msg("no failure in step %s", steps[step]);
  }
}

static void damaged_code_on_one_rank_fails_all(void **state) {
  (void)state;
  rank ranks[RANKS];
  prepare(ranks);
  ranks[2].is_code_damaged = true;
  run(ranks, TIMEOUT_MS);
  expect_failure(ranks, 2, "pack", LAMPAR_ERROR_SYSTEM, "was damaged in the exchange");
}

/* A kernel that one rank cannot read comes from another that has it; when none has, all fail. */
static void a_damaged_entry_on_one_rank_is_received(void **state) {
  const scratch *const s = *state;
  static const char *damaged;
  char folder[SCRATCH_PATH_BYTES], command[3 * SCRATCH_PATH_BYTES];
  rank ranks[RANKS];
  scratch_path(s, "damaged", folder);
  damaged = folder;
  snprintf(command, sizeof command,
           "cp -r '%s' '%s' && truncate -s 500 \"$(find '%s' -type f | sort | head -1)\"", full,
           folder, folder);
  assert_int_equal(system(command), 0);
  for (int has_whole = 1; has_whole >= 0; --has_whole) {
    prepare(ranks);
    ranks[0].options.read_folders = &damaged;
    ranks[1].options.read_folder_count = (size_t)has_whole;
    run(ranks, TIMEOUT_MS);
    expect_agreement(ranks);
    if (has_whole) assert_int_equal(ranks[0].stats.received, 1);
    else assert_int_equal(ranks[0].status, LAMPAR_ERROR_NO_KERNEL);
    close_packs(ranks);
  }
}

/* Its rank leaves, the others miss it once, and nobody has a pack. */
static void a_transport_that_fails_fails_all(void **state) {
  (void)state;
  rank ranks[RANKS];
  prepare(ranks);
  run(ranks, TIMEOUT_MS);
  assert_int_equal(ranks[0].status, LAMPAR_OK);
  close_packs(ranks);
  const int steps = ranks[0].steps;
  assert_true(steps > 6);
  for (int step = 1; step <= steps;
       step += step < 6 || step > steps - 3 ? 1 : (steps - 8) / 2 + 1) {
    prepare(ranks);
    ranks[1].failing_step = step;
    run(ranks, SHORT_TIMEOUT_MS);
    for (int i = 0; i < RANKS; ++i) {
      assert_null(ranks[i].pack);
      assert_int_equal(ranks[i].status, LAMPAR_ERROR_SYSTEM);
      assert_true(ranks[i].steps <= step);
      if (strstr(ranks[i].message, "building together, step \"") == NULL)
        fail_msg("rank %d: %s", i, ranks[i].message);
    }
  }
}

/* ---- the cache that all start from ---- */

static int fill_cache(void **state) {
  static char folder[SCRATCH_PATH_BYTES];
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack;
  scratch_setup(state);
  scratch_path(*state, "full", folder);
  options.write_folder = full = folder;
  if (lampar_jit_build_text(text, "config", "emu", &options, &pack) != LAMPAR_OK) {
    fprintf(stderr, "%s\n", lampar_last_error());
    return -1;
  }
  lampar_pack_close(pack);
  return setenv("LAMPAR_DISABLE_JIT", "1", 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_come_from_the_rank_that_has_them),
      cmocka_unit_test(a_bad_request_of_one_rank_fails_all),
      cmocka_unit_test(bad_statistics_of_one_rank_fail_all),
      cmocka_unit_test(other_kernels_on_one_rank_fail_all),
      cmocka_unit_test(an_allocation_that_fails_on_one_rank_fails_all),
      cmocka_unit_test(damaged_code_on_one_rank_fails_all),
      cmocka_unit_test(a_damaged_entry_on_one_rank_is_received),
      cmocka_unit_test(a_transport_that_fails_fails_all),
  };
  if (system("${CXX:-c++} --version > /dev/null 2>&1") != 0) return 77;
  return cmocka_run_group_tests(tests, fill_cache, scratch_teardown);
}
