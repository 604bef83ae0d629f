/* The library on real GPUs: one command, a line for each check, exit status 0 when all pass, 1 when
 * one fails, 77 with the reason when there is no GPU. */
#include "checks.h"

#include <argp.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77, WORLDS_MAX = 6, PATTERNS_MAX = 32 };

static const int worlds[WORLDS_MAX] = {1, 2, 3, 4, 6, 8};

typedef enum need { NEED_NOTHING, NEED_GPU_EACH } need;

static const struct {
  const char *name;
  check_function *run;
  int worlds[WORLDS_MAX]; /* 0 ends the list */
  need need;
} checks[] = {
    {"bound-float64", check_float64, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"rows", check_rows, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"flat", check_flat, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"alignment", check_alignment, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"strides", check_strides, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"in-place", check_in_place, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"special-values", check_special_values, {2, 3, 4, 6, 8}, NEED_NOTHING},
    {"alternating-10000", check_alternating, {2, 3, 4, 8}, NEED_NOTHING},
    {"graphs", check_graphs, {2, 3, 8}, NEED_NOTHING},
    {"chains", check_chains, {2, 3, 8}, NEED_NOTHING},
    {"two-streams", check_two_streams, {2, 3, 4}, NEED_NOTHING},
    {"two-streams-captured", check_two_streams_captured, {2, 3}, NEED_NOTHING},
    {"lanes", check_lanes, {2}, NEED_GPU_EACH},
    {"programmatic-launch", check_programmatic, {2}, NEED_GPU_EACH},
    {"fallback", check_fallback, {2}, NEED_GPU_EACH},
    {"strict", check_strict, {2}, NEED_NOTHING},
    {"second-creation", check_second_creation, {2, 3}, NEED_NOTHING},
    {"creation-in-capture", check_creation_in_capture, {2, 3}, NEED_NOTHING},
    {"packs-differ", check_packs_differ, {2}, NEED_NOTHING},
    {"configs-differ", check_configs_differ, {2, 4}, NEED_NOTHING},
    {"not-enabled", check_not_enabled, {2}, NEED_NOTHING},
    {"disabled", check_disabled, {2}, NEED_NOTHING},
    {"expert-parallelism", check_expert_parallelism, {2}, NEED_NOTHING},
    {"arguments", check_arguments, {2}, NEED_NOTHING},
    {"one-rank-over-nccl", check_one_rank_over_nccl, {1}, NEED_NOTHING},
    {"watchdog", check_watchdog, {2, 3, 8}, NEED_NOTHING},
    {"late-rank", check_late_rank, {2, 3, 8}, NEED_NOTHING},
    {"processes", check_processes, {2}, NEED_GPU_EACH},
    {"processes-own-order", check_processes_own_order, {2}, NEED_GPU_EACH},
};
enum { CHECKS = sizeof checks / sizeof checks[0], NAME_BYTES = 64 };

typedef struct arguments {
  const char *pack, *other;
  const char *patterns[PATTERNS_MAX];
  int pattern_count;
  bool list, probe;
} arguments;

enum { OPTION_PACK = 256, OPTION_OTHER, OPTION_LIST, OPTION_PROBE };

static const struct argp_option options[] = {
    {"pack", OPTION_PACK, "FILE", 0, "The pack of gpu.lua", 0},
    {"other", OPTION_OTHER, "FILE", 0, "The pack of other.lua", 0},
    {"list", OPTION_LIST, NULL, 0, "Print the checks' names and end", 0},
    {"probe", OPTION_PROBE, NULL, 0,
     "End with 0 if there is a GPU, else say why not and end with 77", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_PACK: given->pack = value; return 0;
  case OPTION_OTHER: given->other = value; return 0;
  case OPTION_LIST: given->list = true; return 0;
  case OPTION_PROBE: given->probe = true; return 0;
  case ARGP_KEY_ARG:
    if (given->pattern_count == PATTERNS_MAX) argp_error(state, "too many patterns");
    given->patterns[given->pattern_count++] = value;
    return 0;
  case ARGP_KEY_END:
    if (!given->list && !given->probe && (given->pack == NULL || given->other == NULL))
      argp_error(state, "--pack and --other are needed");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static bool is_wanted(const arguments *given, const char *name) {
  for (int i = 0; i < given->pattern_count; ++i)
    if (fnmatch(given->patterns[i], name, 0) == 0) return true;
  return given->pattern_count == 0;
}

static bool runs_with(size_t check, int world) {
  for (int i = 0; i < WORLDS_MAX; ++i)
    if (checks[check].worlds[i] == world) return true;
  return false;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static lampar_status run_check(fixture *fixture, size_t check, int world, uint64_t *calls) {
  lampar_status status = lampar_ranks_set_world(fixture->ranks, world);
  if (status == LAMPAR_OK) status = checks[check].run(fixture, world, calls);
  char message[1024];
  snprintf(message, sizeof message, "%s", lampar_last_error());
  const lampar_status closed = lampar_ranks_close_group(fixture->ranks);
  lampar_ranks_disconnect(fixture->ranks);
  if (status != LAMPAR_OK) return lampar_fail(status, "%s", message);
  return closed;
}

typedef struct tally {
  int passed, failed, skipped;
} tally;

/* Runs one check and prints its line. */
static void report_check(fixture *fixture, size_t check, int world, const char *name, tally *sum) {
  const int gpus = lampar_ranks_gpu_count(fixture->ranks);
  if (checks[check].need == NEED_GPU_EACH && gpus < world) {
    ++sum->skipped;
    printf("%-28s %8s %10s  skipped: needs %d GPUs, there %s %d\n", name, "", "", world,
           gpus == 1 ? "is" : "are", gpus);
    return;
  }
  uint64_t calls = 0;
  const double start = seconds();
  const lampar_status status = run_check(fixture, check, world, &calls);
  const double took = seconds() - start;
  if (status == LAMPAR_OK) {
    ++sum->passed;
    printf("%-28s %8llu %8.2f s  ok\n", name, (unsigned long long)calls, took);
  } else {
    ++sum->failed;
    printf("%-28s %8llu %8.2f s  FAILED %s\n", name, (unsigned long long)calls, took,
           lampar_last_error());
  }
}

/* By world, so that the samples of one are made once. */
static void for_each_check(const arguments *given, fixture *fixture, tally *sum) {
  for (int w = 0; w < WORLDS_MAX; ++w)
    for (size_t check = 0; check < CHECKS; ++check) {
      char name[NAME_BYTES];
      snprintf(name, sizeof name, "%s/w%d", checks[check].name, worlds[w]);
      if (!runs_with(check, worlds[w]) || !is_wanted(given, name)) continue;
      if (fixture == NULL) printf("%s\n", name);
      else report_check(fixture, check, worlds[w], name, sum);
    }
}

static int probe(void) {
  lampar_driver driver;
  int gpus = 0;
  lampar_status status = lampar_driver_open(&driver);
  if (status == LAMPAR_OK)
    status = lampar_driver_check(&driver, driver.device_count(&gpus), "cuDeviceGetCount");
  if (status == LAMPAR_OK && gpus > 0) return 0;
  printf("skipped: %s\n", status != LAMPAR_OK ? lampar_last_error() : "the driver sees no GPU");
  return EXIT_SKIPPED;
}

static void print_head(const fixture *fixture) {
  const lampar_rank *rank = lampar_ranks_at(fixture->ranks, 0);
  char name[128] = "";
  int device, version = 0;
  if (rank->driver->device_get(&device, rank->gpu) == LAMPAR_CUDA_SUCCESS)
    rank->driver->device_name(name, (int)sizeof name, device);
  rank->driver->driver_version(&version);
  const int gpus = lampar_ranks_gpu_count(fixture->ranks);
  printf("%d x %s, CUDA driver API %d.%d, pack %s %.8s\n", gpus, name, version / 1000,
         version % 1000 / 10, lampar_pack_name(fixture->pack), lampar_pack_digest(fixture->pack));
  printf("%-28s %8s %10s\n", "check/ranks", "count", "took");
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1 && strcmp(argv[1], "--child") == 0) return run_child(argc, argv);
  arguments given = {0};
  const struct argp argp = {
      options, parse, "[PATTERN...]", "Runs the checks that match, or all.", NULL, NULL, NULL};
  argp_err_exit_status = EXIT_BAD_INPUT;
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  tally sum = {0};
  if (given.list) {
    for_each_check(&given, NULL, &sum);
    return 0;
  }
  if (given.probe) return probe();

  fixture fixture = {.program = argv[0], .pack_path = given.pack, .other_path = given.other};
  const lampar_status status = fixture_open(&fixture);
  if (status != LAMPAR_OK) {
    const bool no_gpu = fixture.ranks == NULL && status == LAMPAR_ERROR_DRIVER;
    fprintf(stderr, "%s: %s\n", no_gpu ? "skipped" : "allreduce_test", lampar_last_error());
    fixture_close(&fixture);
    return no_gpu ? EXIT_SKIPPED : EXIT_BAD_INPUT;
  }
  print_head(&fixture);
  for_each_check(&given, &fixture, &sum);
  fixture_close(&fixture);
  printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped);
  return sum.failed > 0 || sum.passed == 0;
}
