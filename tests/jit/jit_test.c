/* liblampar-jit as a program sees it: through its header and the shared library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <lampar/lampar_jit.h>

#include "scratch.h"

enum { RANKS = 8, EXCHANGE_MS = 100000 };

static const char *spec, *offline; /* files: the spec, and the pack that the tool made of it */

/* One build: what goes in, and what comes out. */
typedef struct build {
  lampar_jit_options options;
  lampar_jit_stats stats;
  lampar_pack *pack;
  lampar_status status;
  char error[1024];
  int warnings;
  char warning[1024];
  const char *spec;
} build;

static void note(void *user, lampar_log_level level, const char *line) {
  build *const b = user;
  if (level != LAMPAR_LOG_WARN) return;
  ++b->warnings;
  snprintf(b->warning, sizeof b->warning, "%s", line);
}

static build prepare(const char *folder) {
  build b = {.options = LAMPAR_JIT_OPTIONS_INIT, .stats = LAMPAR_JIT_STATS_INIT, .spec = spec};
  b.options.write_folder = folder;
  b.options.log = note;
  return b;
}

static void run(build *b) {
  b->options.log_user = b;
  b->options.stats = &b->stats;
  b->status = lampar_jit_build(b->spec, "sm_90", &b->options, &b->pack);
  snprintf(b->error, sizeof b->error, "%s", lampar_last_error());
}

static void succeed(build *b) {
  run(b);
  if (b->status != LAMPAR_OK) fail_msg("%s", b->error);
  assert_int_equal(b->stats.kernels, b->stats.cached + b->stats.compiled + b->stats.received);
  assert_int_equal(b->stats.kernels, lampar_pack_count(b->pack));
}

static void fail_with(build *b, lampar_status status, const char *part) {
  run(b);
  assert_null(b->pack);
  assert_int_equal(b->status, status);
  if (strstr(b->error, part) == NULL) fail_msg("no '%s' in: %s", part, b->error);
}

/* The same bytes as what the tool made offline. */
static void close_equal(build *b) {
  lampar_pack *expected;
  assert_int_equal(lampar_pack_open(offline, &expected), LAMPAR_OK);
  assert_string_equal(lampar_pack_digest(b->pack), lampar_pack_digest(expected));
  assert_string_equal(lampar_pack_name(b->pack), "small");
  lampar_pack_close(expected);
  lampar_pack_close(b->pack);
  b->pack = NULL;
}

static int count_entries(const char *folder) {
  char command[SCRATCH_PATH_BYTES + 64];
  int count = -1;
  snprintf(command, sizeof command, "find '%s' -type f 2>/dev/null | wc -l", folder);
  FILE *const answer = popen(command, "r");
  assert_non_null(answer);
  assert_int_equal(fscanf(answer, "%d", &count), 1);
  pclose(answer);
  return count;
}

/* ---- one process ---- */

static void cold_and_warm_are_the_offline_pack(void **state) {
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES];
  scratch_path(s, "cache", folder);
  build cold = prepare(folder), warm = prepare(folder);
  succeed(&cold);
  assert_int_equal(cold.stats.compiled, cold.stats.kernels);
  assert_int_equal(count_entries(folder), cold.stats.kernels);
  close_equal(&cold);
  succeed(&warm);
  assert_int_equal(warm.stats.cached, warm.stats.kernels);
  close_equal(&warm);
  assert_int_equal(cold.warnings + warm.warnings, 0);

  /* The folder is read as one of an image; the folder that is written stays empty. */
  char own[SCRATCH_PATH_BYTES];
  scratch_path(s, "own", own);
  const char *const image[] = {folder};
  build again = prepare(own);
  again.options.read_folders = image;
  again.options.read_folder_count = 1;
  succeed(&again);
  assert_int_equal(again.stats.cached, again.stats.kernels);
  assert_int_equal(count_entries(own), 0);
  close_equal(&again);
}

static void a_damaged_entry_is_compiled_again(void **state) {
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES], command[SCRATCH_PATH_BYTES + 96];
  scratch_path(s, "cache", folder);
  build first = prepare(folder), second = prepare(folder), third = prepare(folder);
  succeed(&first);
  close_equal(&first);
  snprintf(command, sizeof command, "f=$(find '%s' -type f | sort | head -1); truncate -s 500 $f",
           folder);
  assert_int_equal(system(command), 0);
  succeed(&second);
  assert_int_equal(second.stats.compiled, 1);
  assert_int_equal(second.warnings, 1);
  if (strstr(second.warning, "is truncated") == NULL) fail_msg("%s", second.warning);
  close_equal(&second);
  succeed(&third);
  assert_int_equal(third.stats.compiled, 0);
  close_equal(&third);
}

static void an_empty_variable_and_no_home_keep_nothing(void **state) {
  const scratch *const s = *state;
  char kept[SCRATCH_PATH_BYTES], *home = getenv("HOME") != NULL ? strdup(getenv("HOME")) : NULL;
  setenv("HOME", s->folder, 1);
  setenv("LAMPAR_CACHE_DIR", "", 1);
  for (int round = 0; round < 2; ++round) {
    build b = prepare(NULL);
    succeed(&b);
    assert_int_equal(b.stats.compiled, b.stats.kernels);
    assert_int_equal(b.warnings, 0);
    close_equal(&b);
    assert_int_equal(count_entries(s->folder), 0);
    unsetenv("HOME"); /* the second round */
    unsetenv("LAMPAR_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("CACHE_DIRECTORY");
  }
  /* With a home it is kept there. */
  setenv("HOME", s->folder, 1);
  scratch_path(s, ".cache/lampar", kept);
  build b = prepare(NULL);
  succeed(&b);
  assert_int_equal(count_entries(kept), b.stats.kernels);
  close_equal(&b);
  if (home != NULL) setenv("HOME", home, 1);
  free(home);
}

static void *build_in_thread(void *argument) {
  run(argument);
  return NULL;
}

/* The test is the process that compiles: it holds the folder's lock, and stores what another build
 * has made. */
static void a_build_waits_for_the_process_that_compiles(void **state) {
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES], made[SCRATCH_PATH_BYTES], command[2 * SCRATCH_PATH_BYTES + 32];
  pthread_t thread;
  scratch_path(s, "cache/x", folder);
  *strrchr(folder, '/') = '\0';
  scratch_path(s, "made", made);
  build first = prepare(made), waiting = prepare(folder);
  succeed(&first);
  close_equal(&first);
  const int lock = open(folder, O_RDONLY | O_DIRECTORY);
  assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
  assert_int_equal(pthread_create(&thread, NULL, build_in_thread, &waiting), 0);
  nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
  assert_int_equal(count_entries(folder), 0);
  snprintf(command, sizeof command, "cp -r '%s'/* '%s'", made, folder);
  assert_int_equal(system(command), 0);
  pthread_join(thread, NULL);
  if (waiting.status != LAMPAR_OK) fail_msg("%s", waiting.error);
  assert_int_equal(waiting.stats.compiled, 0);
  close_equal(&waiting);
  close(lock);
}

static int stop_at_three(void *user, uint32_t done, uint32_t total, const char *name) {
  uint32_t *const calls = user;
  assert_int_equal(done, ++*calls);
  assert_true(total > 3);
  assert_memory_equal(name, "ar_", 3);
  return done == 3;
}

static int only_count(void *user, uint32_t done, uint32_t total, const char *name) {
  (void)done, (void)total, (void)name;
  ++*(uint32_t *)user;
  return 0;
}

static void progress_can_stop_and_what_is_done_is_kept(void **state) {
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES];
  uint32_t calls = 0;
  scratch_path(s, "cache", folder);
  build stopped = prepare(folder), rest = prepare(folder), warm = prepare(folder);
  stopped.options.progress = stop_at_three;
  stopped.options.progress_user = &calls;
  fail_with(&stopped, LAMPAR_ERROR_CANCELLED, "stopped by the progress function after 3 of ");
  assert_int_equal(calls, 3);

  calls = 0;
  rest.options.progress = only_count;
  rest.options.progress_user = &calls;
  succeed(&rest);
  assert_true(rest.stats.cached >= 3);
  assert_int_equal(calls, rest.stats.compiled);
  close_equal(&rest);

  calls = 0;
  warm.options.progress = only_count;
  warm.options.progress_user = &calls;
  succeed(&warm);
  assert_int_equal(calls, 0);
  close_equal(&warm);
}

static void without_a_compiler_the_cache_has_to_do(void **state) {
  static const struct {
    const char *name, *value, *says;
    lampar_status status;
  } ways[] = {
      {"LAMPAR_DISABLE_JIT", "1", "LAMPAR_DISABLE_JIT is set", LAMPAR_ERROR_NO_KERNEL},
      {"LAMPAR_NVRTC_LIBRARY", "/nowhere/libnvrtc.so", "/nowhere/libnvrtc.so cannot be loaded",
       LAMPAR_ERROR_SYSTEM},
  };
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES], empty[SCRATCH_PATH_BYTES];
  scratch_path(s, "cache", folder);
  scratch_path(s, "empty", empty);
  build first = prepare(folder);
  succeed(&first);
  close_equal(&first);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    setenv(ways[i].name, ways[i].value, 1);
    build missing = prepare(empty), warm = prepare(folder);
    fail_with(&missing, ways[i].status, ways[i].says);
    if (strncmp(missing.error, "ar_", 3) != 0) fail_msg("no kernel is named: %s", missing.error);
    succeed(&warm);
    assert_int_equal(warm.stats.cached, warm.stats.kernels);
    close_equal(&warm);
    unsetenv(ways[i].name);
  }
}

static void templates_may_be_a_folder(void **state) {
  const scratch *const s = *state;
  char path[SCRATCH_PATH_BYTES];
  build own = prepare(""), broken = prepare("");
  own.options.templates = LAMPAR_TEMPLATES;
  succeed(&own);
  close_equal(&own);
  scratch_write(s, "oneshot.cu.in", "$nonsense(\n", 11, path);
  setenv("LAMPAR_TEMPLATES", s->folder, 1);
  fail_with(&broken, LAMPAR_ERROR_ARGUMENT, "oneshot.cu.in:");
  unsetenv("LAMPAR_TEMPLATES");
}

/* ---- specs and options ---- */

static void a_spec_may_be_text(void **state) {
  (void)state;
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack = NULL;
  options.write_folder = "";
  options.world = 2;
  assert_int_equal(lampar_jit_build_text(
                       "return spec { name = 't', arch = { 'sm_90' }, world = { 2, 4 }, dtype = "
                       "{ 'f32' } }",
                       "config", "sm_90", &options, &pack),
                   LAMPAR_OK);
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  assert_string_equal(lampar_pack_name(pack), "t");
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    assert_int_equal(lampar_pack_info(pack, i, &info), LAMPAR_OK);
    assert_int_equal(info.world, 2);
  }
  lampar_pack_close(pack);
  pack = NULL;
  assert_int_equal(
      lampar_jit_build_text("return\nspec { name = 7 }", "config", "sm_90", &options, &pack),
      LAMPAR_ERROR_ARGUMENT);
  assert_memory_equal(lampar_last_error(), "config:2: name", 14);
  assert_int_equal(lampar_jit_build_text("return require 'x'", "config", "sm_90", &options, &pack),
                   LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "has no folder"));
  assert_null(pack);
}

static void bad_requests_say_what_is_wrong(void **state) {
  (void)state;
  lampar_pack *pack = NULL;
  assert_int_equal(lampar_jit_build("/nowhere.lua", "sm_90", NULL, &pack), LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "/nowhere.lua"));
  assert_int_equal(lampar_jit_build(spec, "sm_100", NULL, &pack), LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "its archs are sm_90 emu"));
  assert_int_equal(lampar_jit_build(spec, "hopper", NULL, &pack), LAMPAR_ERROR_ARGUMENT);
  assert_int_equal(lampar_jit_build(NULL, "sm_90", NULL, &pack), LAMPAR_ERROR_ARGUMENT);
  assert_int_equal(lampar_jit_build(spec, "sm_90", NULL, NULL), LAMPAR_ERROR_ARGUMENT);
  build b = prepare("");
  b.options.world = 3;
  fail_with(&b, LAMPAR_ERROR_ARGUMENT, "no kernels for 3 ranks");
  b.options.world = -1;
  fail_with(&b, LAMPAR_ERROR_ARGUMENT, "world -1");
  b = prepare("");
  b.options.size = 0;
  fail_with(&b, LAMPAR_ERROR_ARGUMENT, "its size is not set");
  b = prepare("");
  b.options.read_folder_count = 1;
  fail_with(&b, LAMPAR_ERROR_ARGUMENT, "read_folders is NULL");
}

/* ---- the device ---- */

static bool has_emulator(void) {
  return getenv("LAMPAR_EMU_LIBRARY") != NULL &&
         system("${CXX:-c++} --version > /dev/null 2>&1") == 0;
}

/* Makes a device's context current, as an engine does. */
static void set_device(const char *library, int device) {
  void *const emulator = dlopen(library, RTLD_NOW);
  assert_non_null(emulator);
  int (*init)(unsigned), (*retain)(void **, int), (*set)(void *);
  *(void **)&init = dlsym(emulator, "cuInit");
  *(void **)&retain = dlsym(emulator, "cuDevicePrimaryCtxRetain");
  *(void **)&set = dlsym(emulator, "cuCtxSetCurrent");
  void *context;
  assert_int_equal(init(0), 0);
  assert_int_equal(retain(&context, device), 0);
  assert_int_equal(set(context), 0);
}

static void without_an_arch_it_is_that_of_the_device(void **state) {
  const char *const library = getenv("LAMPAR_EMU_LIBRARY");
  if (!has_emulator()) skip();
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES];
  scratch_path(s, "cache", folder);
  setenv("LAMPAR_DEVICE", "emu", 1);
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_jit_stats stats = LAMPAR_JIT_STATS_INIT;
  lampar_pack *pack = NULL;
  options.write_folder = folder;
  options.world = 2;
  options.stats = &stats;
  assert_int_equal(lampar_jit_build(spec, NULL, &options, &pack), LAMPAR_ERROR_DRIVER);
  assert_non_null(strstr(lampar_last_error(), "no CUDA context"));
  set_device(library, 0);
  for (int round = 0; round < 2; ++round) {
    lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
    if (lampar_jit_build(spec, NULL, &options, &pack) != LAMPAR_OK)
      fail_msg("%s", lampar_last_error());
    assert_int_equal(round == 0 ? stats.compiled : stats.cached, lampar_pack_count(pack));
    assert_int_equal(lampar_pack_info(pack, 0, &info), LAMPAR_OK);
    assert_string_equal(info.arch, "emu");
    lampar_pack_close(pack);
  }
  unsetenv("LAMPAR_DEVICE");
}

/* ---- ranks ---- */

typedef struct rank {
  pthread_t thread;
  build build;
} rank;

static void *serve(void *argument) {
  run(&((rank *)argument)->build);
  return NULL;
}

/* All ranks build together, each with what `prepared` says; the caller looks at the results. */
static void run_ranks(rank ranks[RANKS]) {
  lampar_local_exchange *local;
  assert_int_equal(lampar_local_exchange_create(RANKS, EXCHANGE_MS, &local), LAMPAR_OK);
  for (int r = 0; r < RANKS; ++r) {
    ranks[r].build.options.exchange = lampar_local_exchange_rank(local, r);
    assert_int_equal(pthread_create(&ranks[r].thread, NULL, serve, &ranks[r]), 0);
  }
  for (int r = 0; r < RANKS; ++r) pthread_join(ranks[r].thread, NULL);
  lampar_local_exchange_destroy(local);
}

static void each_kernel_is_compiled_once_over_all_ranks(void **state) {
  const scratch *const s = *state;
  char folders[RANKS][SCRATCH_PATH_BYTES];
  rank ranks[RANKS];
  for (int r = 0; r < RANKS; ++r) {
    char name[16];
    snprintf(name, sizeof name, "rank%d", r);
    scratch_path(s, name, folders[r]);
    ranks[r].build = prepare(folders[r]);
  }
  run_ranks(ranks);
  uint32_t compiled = 0;
  for (int r = 0; r < RANKS; ++r) {
    build *const b = &ranks[r].build;
    if (b->status != LAMPAR_OK) fail_msg("rank %d: %s", r, b->error);
    compiled += b->stats.compiled;
    assert_true(b->stats.compiled <= b->stats.kernels / RANKS + 1);
    assert_int_equal(b->stats.received, b->stats.kernels - b->stats.compiled);
    assert_int_equal(count_entries(folders[r]), b->stats.kernels);
  }
  assert_int_equal(compiled, ranks[0].build.stats.kernels);
  for (int r = 0; r < RANKS; ++r) close_equal(&ranks[r].build);

  /* Now some have everything, some have lost half, and some have nothing. */
  for (int r = 0; r < RANKS; ++r) {
    char command[SCRATCH_PATH_BYTES + 96];
    snprintf(command, sizeof command, "find '%s' -type f | sort | head -%d | xargs -r rm -f",
             folders[r],
             r % 3 == 0   ? 0
             : r % 3 == 1 ? 3
                          : 1000);
    assert_int_equal(system(command), 0);
    ranks[r].build = prepare(folders[r]);
  }
  run_ranks(ranks);
  for (int r = 0; r < RANKS; ++r) {
    build *const b = &ranks[r].build;
    if (b->status != LAMPAR_OK) fail_msg("rank %d: %s", r, b->error);
    assert_int_equal(b->stats.compiled, 0);
    assert_int_equal(b->stats.received, r % 3 == 0 ? 0 : r % 3 == 1 ? 3 : b->stats.kernels);
    assert_int_equal(count_entries(folders[r]), b->stats.kernels);
    close_equal(b);
  }
}

/* ---- ranks with a communicator: the emulated device's ---- */

typedef struct nccl_id {
  char bytes[128];
} nccl_id;

enum { NCCL_RANKS = 3 };

typedef struct nccl_rank {
  pthread_t thread;
  int rank;
  bool has_no_context;
  const char *arch;
  void *emulator;
  nccl_id id;
  struct ncclComm *comm;
  const char *folder;
  lampar_jit_stats stats;
  lampar_status status;
  char digest[64], error[1024];
} nccl_rank;

static void *serve_over_nccl(void *argument) {
  nccl_rank *const r = argument;
  int (*init)(struct ncclComm **, int, nccl_id, int), (*destroy)(struct ncclComm *);
  *(void **)&init = dlsym(r->emulator, "ncclCommInitRank");
  *(void **)&destroy = dlsym(r->emulator, "ncclCommDestroy");
  set_device(getenv("LAMPAR_EMU_LIBRARY"), r->rank);
  assert_int_equal(init(&r->comm, NCCL_RANKS, r->id, r->rank), 0);
  if (r->has_no_context) {
    int (*set)(void *);
    *(void **)&set = dlsym(r->emulator, "cuCtxSetCurrent");
    assert_int_equal(set(NULL), 0);
  }
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack;
  r->stats = (lampar_jit_stats)LAMPAR_JIT_STATS_INIT;
  options.write_folder = r->folder;
  options.comm = r->comm;
  options.stats = &r->stats;
  r->status = lampar_jit_build(spec, r->arch, &options, &pack);
  if (r->status == LAMPAR_OK) {
    snprintf(r->digest, sizeof r->digest, "%s", lampar_pack_digest(pack));
    lampar_pack_close(pack);
  } else {
    snprintf(r->error, sizeof r->error, "%s", lampar_last_error());
  }
  destroy(r->comm);
  return NULL;
}

/* A line of each rank of the communicator, under its number. */
static void expect_log_of_ranks(const char *path) {
  char text[4096] = "", line[64];
  FILE *const file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  for (int r = 0; r < NCCL_RANKS; ++r) {
    snprintf(line, sizeof line, "lampar info rank %d: small: ", r);
    if (strstr(text, line) == NULL) fail_msg("no '%s' in: %s", line, text);
  }
}

/* All ranks build together over NCCL, each as its struct describes. */
static void run_over_nccl(nccl_rank ranks[NCCL_RANKS]) {
  int (*make_id)(nccl_id *);
  void *const emulator = dlopen(getenv("LAMPAR_EMU_LIBRARY"), RTLD_NOW);
  *(void **)&make_id = dlsym(emulator, "ncclGetUniqueId");
  assert_int_equal(make_id(&ranks[0].id), 0);
  for (int r = 0; r < NCCL_RANKS; ++r) {
    ranks[r].rank = r;
    ranks[r].emulator = emulator;
    ranks[r].id = ranks[0].id;
    assert_int_equal(pthread_create(&ranks[r].thread, NULL, serve_over_nccl, &ranks[r]), 0);
  }
  for (int r = 0; r < NCCL_RANKS; ++r) pthread_join(ranks[r].thread, NULL);
}

/* Rank 0 has all kernels and sends them to the others. Ranks that wait while others compile are
 * left to real devices: to the emulated one they look like a deadlock. */
static void ranks_may_share_over_nccl(void **state) {
  if (!has_emulator()) skip();
  const scratch *const s = *state;
  char folder[SCRATCH_PATH_BYTES], log[SCRATCH_PATH_BYTES];
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack;
  scratch_path(s, "cache", folder);
  scratch_path(s, "log", log);
  options.write_folder = folder;
  assert_int_equal(lampar_jit_build(spec, "emu", &options, &pack), LAMPAR_OK);
  setenv("LAMPAR_DEVICE", "emu", 1);
  setenv("LAMPAR_DEBUG", "info", 1);
  setenv("LAMPAR_DEBUG_FILE", log, 1);
  nccl_rank ranks[NCCL_RANKS] = {{0}};
  for (int r = 0; r < NCCL_RANKS; ++r) {
    ranks[r].arch = "emu";
    ranks[r].folder = r == 0 ? folder : "";
  }
  run_over_nccl(ranks);
  for (int r = 0; r < NCCL_RANKS; ++r) {
    assert_string_equal(ranks[r].error, "");
    assert_string_equal(ranks[r].digest, lampar_pack_digest(pack));
    assert_int_equal(r == 0 ? ranks[r].stats.cached : ranks[r].stats.received,
                     lampar_pack_count(pack));
  }
  expect_log_of_ranks(log);
  lampar_pack_close(pack);
  unsetenv("LAMPAR_DEVICE");
  unsetenv("LAMPAR_DEBUG");
  unsetenv("LAMPAR_DEBUG_FILE");
}

/* It has no arch to build for, and says so over the communicator's own context. */
static void a_rank_without_a_context_fails_all_over_nccl(void **state) {
  (void)state;
  if (!has_emulator()) skip();
  setenv("LAMPAR_DEVICE", "emu", 1);
  nccl_rank ranks[NCCL_RANKS] = {{0}};
  for (int r = 0; r < NCCL_RANKS; ++r) ranks[r].folder = "";
  ranks[1].has_no_context = true;
  const time_t start = time(NULL);
  run_over_nccl(ranks);
  assert_true(time(NULL) - start < 30);
  for (int r = 0; r < NCCL_RANKS; ++r) {
    assert_int_equal(ranks[r].status, LAMPAR_ERROR_DRIVER);
    if (strstr(ranks[r].error, "rank 1, step sources: this thread has no CUDA context") == NULL)
      fail_msg("rank %d: %s", r, ranks[r].error);
  }
  unsetenv("LAMPAR_DEVICE");
}

static void expect_all(rank ranks[RANKS], int culprit, lampar_status status, const char *part) {
  char from[32];
  snprintf(from, sizeof from, "rank %d, step ", culprit);
  for (int r = 0; r < RANKS; ++r) {
    const build *const b = &ranks[r].build;
    assert_null(b->pack);
    assert_int_equal(b->status, status);
    if (strstr(b->error, part) == NULL || strncmp(b->error, from, strlen(from)) != 0)
      fail_msg("rank %d, without '%s' or '%s': %s", r, from, part, b->error);
  }
}

static int stop_at_once(void *user, uint32_t done, uint32_t total, const char *name) {
  (void)user, (void)done, (void)total, (void)name;
  return 1;
}

static void a_failure_of_one_rank_is_the_failure_of_all(void **state) {
  (void)state;
  rank ranks[RANKS];
  for (int r = 0; r < RANKS; ++r) ranks[r].build = prepare("");
  ranks[3].build.spec = "/nowhere.lua";
  run_ranks(ranks);
  expect_all(ranks, 3, LAMPAR_ERROR_ARGUMENT, "/nowhere.lua: cannot be read");

  for (int r = 0; r < RANKS; ++r) ranks[r].build = prepare("");
  ranks[5].build.options.progress = stop_at_once;
  run_ranks(ranks);
  expect_all(ranks, 5, LAMPAR_ERROR_CANCELLED, "stopped by the progress function after 1 of 1");

  for (int r = 0; r < RANKS; ++r) ranks[r].build = prepare("");
  ranks[6].build.options.world = 4;
  run_ranks(ranks);
  for (int r = 0; r < RANKS; ++r) {
    assert_int_equal(ranks[r].build.status, LAMPAR_ERROR_ARGUMENT);
    assert_non_null(strstr(ranks[r].build.error, "rank 6 builds other kernels than rank 0"));
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      scratch_test(cold_and_warm_are_the_offline_pack),
      scratch_test(a_damaged_entry_is_compiled_again),
      scratch_test(an_empty_variable_and_no_home_keep_nothing),
      scratch_test(a_build_waits_for_the_process_that_compiles),
      scratch_test(progress_can_stop_and_what_is_done_is_kept),
      scratch_test(without_a_compiler_the_cache_has_to_do),
      scratch_test(templates_may_be_a_folder),
      cmocka_unit_test(a_spec_may_be_text),
      cmocka_unit_test(bad_requests_say_what_is_wrong),
      scratch_test(without_an_arch_it_is_that_of_the_device),
      scratch_test(each_kernel_is_compiled_once_over_all_ranks),
      scratch_test(ranks_may_share_over_nccl),
      cmocka_unit_test(a_rank_without_a_context_fails_all_over_nccl),
      cmocka_unit_test(a_failure_of_one_rank_is_the_failure_of_all),
  };
  if (argc != 3) {
    fprintf(stderr, "usage: jit_test SPEC PACK\n");
    return 2;
  }
  spec = argv[1];
  offline = argv[2];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
