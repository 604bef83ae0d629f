/* Microseconds of fused kernels on two GPUs: an all-reduce with its epilogue, without and with
 * programmatic launch, for the kernels of one or several packs. A CUDA graph of dependent calls is
 * replayed without a pause; the figure is the median over the replays of the slower rank. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epilogue_trial.h"
#include "error.h"
#include "pack_read.h"

enum {
  WORLD = 2,
  LAUNCHES = 2, /* without and with programmatic launch */
  GRAPH_CALLS = 100,
  WARM_UP = 3,
  REPLAYS_MAX = 101,
  PACKS_MAX = 8,
  KEYS_MAX = 64,
  ROWS_MAX = 128,
  WATCHDOG_MS = 20000,
  EXIT_BAD_INPUT = 2,
  EXIT_SKIPPED = 77,
};

static const uint64_t rows_of[] = {1, 8, 32, 128};
enum { SIZES = sizeof rows_of / sizeof rows_of[0] };

typedef struct arguments {
  const char *packs[PACKS_MAX];
  int pack_count, replays;
} arguments;

/* A figure, and the kernel that it belongs to. */
typedef struct figure {
  double us[LAUNCHES]; /* 0: not taken */
  lampar_kernel_info kernel;
} figure;

/* An epilogue of a shape. */
typedef struct fused_key {
  lampar_variant variant;
  figure figures[SIZES][PACKS_MAX];
} fused_key;

/* A rank's events. */
typedef struct station {
  struct CUevent_st *event[REPLAYS_MAX + 1];
} station;

typedef struct bench {
  const arguments *given;
  lampar_ranks *ranks;
  lampar_epilogue_trials *trials;
  lampar_pack *pack[PACKS_MAX];
  station station[WORLD];
  fused_key keys[KEYS_MAX];
  int key_count;
} bench;

/* One figure being taken on both ranks. */
typedef struct task {
  bench *bench;
  const lampar_epilogue_samples *samples;
  uint64_t rows;
  double result[WORLD]; /* us */
} task;

static lampar_status check(const lampar_rank *rank, int result, const char *what) {
  return lampar_driver_check(rank->driver, result, what);
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* In the next call the residual is what this one has stored, as in a model's next layer. */
static void swap_residuals(lampar_operand *operands, uint32_t count) {
  lampar_operand *in = NULL, *out = NULL;
  for (uint32_t i = 0; i < count; ++i) {
    if (strcmp(operands[i].name, "residual") == 0) in = &operands[i];
    if (strcmp(operands[i].name, "residual_out") == 0) out = &operands[i];
  }
  if (in == NULL || out == NULL) return;
  void *const data = in->data;
  in->data = out->data;
  out->data = data;
}

static lampar_status capture(lampar_rank *rank, lampar_epilogue_trial *trial,
                             struct CUgraph_st **graph) {
  const lampar_driver *driver = rank->driver;
  lampar_call call = lampar_epilogue_trial_get(trial, 0);
  lampar_operand operands[LAMPAR_OPERANDS_MAX];
  memcpy(operands, call.operands, call.operand_count * sizeof *operands);
  call.operands = operands;
  LAMPAR_TRY(check(rank,
                   driver->stream_begin_capture(rank->stream[0], LAMPAR_CAPTURE_MODE_THREAD_LOCAL),
                   "cuStreamBeginCapture"));
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < GRAPH_CALLS && status == LAMPAR_OK; ++i) {
    status = lampar_all_reduce(rank->group, &call, rank->stream[0]);
    swap_residuals(operands, call.operand_count);
  }
  const int ended = driver->stream_end_capture(rank->stream[0], graph);
  return status != LAMPAR_OK ? status : check(rank, ended, "cuStreamEndCapture");
}

/* All replays are enqueued at once, an event between them: the ranks stay in step. */
static lampar_status replay(lampar_rank *rank, task *work, struct CUgraphExec_st *executable) {
  const lampar_driver *driver = rank->driver;
  station *here = &work->bench->station[rank->rank];
  const int replays = work->bench->given->replays;
  for (int i = 0; i < WARM_UP; ++i)
    LAMPAR_TRY(check(rank, driver->graph_launch(executable, rank->stream[0]), "cuGraphLaunch"));
  LAMPAR_TRY(lampar_rank_finish(rank));
  LAMPAR_TRY(lampar_rank_barrier(rank));

  /* The one before the first event brings the ranks into step. */
  for (int i = -1; i < replays; ++i) {
    LAMPAR_TRY(check(rank, driver->graph_launch(executable, rank->stream[0]), "cuGraphLaunch"));
    LAMPAR_TRY(
        check(rank, driver->event_record(here->event[i + 1], rank->stream[0]), "cuEventRecord"));
  }
  LAMPAR_TRY(lampar_rank_finish(rank));

  double us[REPLAYS_MAX];
  for (int i = 0; i < replays; ++i) {
    float ms;
    LAMPAR_TRY(check(rank, driver->event_elapsed(&ms, here->event[i], here->event[i + 1]),
                     "cuEventElapsedTime"));
    us[i] = (double)ms * 1000 / GRAPH_CALLS;
  }
  qsort(us, (size_t)replays, sizeof *us, compare_doubles);
  work->result[rank->rank] = us[replays / 2];
  return lampar_rank_barrier(rank);
}

static lampar_status time_graph(lampar_rank *rank, void *user) {
  task *work = user;
  const lampar_driver *driver = rank->driver;
  lampar_epilogue_trial *trial = lampar_epilogue_trials_get(work->bench->trials, rank);
  const lampar_epilogue_call call = {.rows = work->rows};
  struct CUgraph_st *graph = NULL;
  struct CUgraphExec_st *executable = NULL;
  LAMPAR_TRY(lampar_epilogue_trial_prepare(trial, work->samples, &call, 1));
  lampar_status status = capture(rank, trial, &graph);
  if (status == LAMPAR_OK)
    status = check(rank, driver->graph_instantiate(&executable, graph, 0),
                   "cuGraphInstantiateWithFlags");
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK) status = replay(rank, work, executable);
  if (executable != NULL) driver->graph_executable_destroy(executable);
  if (graph != NULL) driver->graph_destroy(graph);
  return status;
}

/* The kernel that takes a call of so many rows; false: none does. */
static bool find_kernel(const bench *b, int pack, const lampar_variant *v, uint64_t rows,
                        lampar_kernel_info *info) {
  lampar_call call = LAMPAR_CALL_INIT;
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  call.dtype = (lampar_dtype)v->dtype;
  call.rows = rows;
  call.row_length = v->hidden;
  call.epilogue = v->epilogue;
  call.rounding = (lampar_rounding)v->rounding;
  if (lampar_query(lampar_ranks_at(b->ranks, 0)->group, &call, &answer) != LAMPAR_OK ||
      answer.path != LAMPAR_PATH_KERNEL)
    return false;
  for (size_t i = 0; i < lampar_pack_count(b->pack[pack]); ++i)
    if (lampar_pack_info(b->pack[pack], i, info) == LAMPAR_OK &&
        strcmp(info->name, answer.kernel) == 0)
      return true;
  return false;
}

static lampar_status time_key(bench *b, int pack, int programmatic, fused_key *key) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(lampar_epilogue_samples_create(&key->variant, ROWS_MAX, 1, 0, &samples));
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < SIZES && status == LAMPAR_OK; ++i) {
    figure *f = &key->figures[i][pack];
    if (!find_kernel(b, pack, &key->variant, rows_of[i], &f->kernel)) continue;
    task work = {.bench = b, .samples = &samples, .rows = rows_of[i]};
    status = lampar_ranks_run(b->ranks, time_graph, &work);
    f->us[programmatic] = work.result[0] > work.result[1] ? work.result[0] : work.result[1];
  }
  lampar_epilogue_samples_destroy(&samples);
  return status;
}

static lampar_status time_pack(bench *b, int pack, int programmatic) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.programmatic_launch = programmatic;
  LAMPAR_TRY(lampar_ranks_open_group(b->ranks, &b->pack[pack], 1, &config));
  for (int i = 0; i < b->key_count; ++i) LAMPAR_TRY(time_key(b, pack, programmatic, &b->keys[i]));
  return lampar_ranks_close_group(b->ranks);
}

static void print_figure(const fused_key *key, int size, int pack) {
  const figure *f = &key->figures[size][pack];
  if (f->us[0] == 0) return;
  printf("%-40s %4s %6u %4llu %4d %7.2f %7.2f %5u %4u %5u %4u %6u  %s\n", key->variant.epilogue,
         lampar_dtype_name(key->variant.dtype), key->variant.hidden,
         (unsigned long long)rows_of[size], pack + 1, f->us[0], f->us[1], f->kernel.threads,
         f->kernel.cluster, f->kernel.vectors, f->kernel.registers, f->kernel.spill_bytes,
         f->kernel.name);
}

static void print_table(const bench *b) {
  printf("%-40s %4s %6s %4s %4s %7s %7s %5s %4s %5s %4s %6s  %s\n", "epilogue", "", "hidden",
         "rows", "pack", "us", "pdl us", "thr", "clus", "vect", "reg", "spills", "kernel");
  for (int k = 0; k < b->key_count; ++k)
    for (int size = 0; size < SIZES; ++size)
      for (int pack = 0; pack < b->given->pack_count; ++pack) print_figure(&b->keys[k], size, pack);
  for (int p = 0; p < b->given->pack_count; ++p)
    printf("pack %d: %s %s\n", p + 1, b->given->packs[p], lampar_pack_digest(b->pack[p]));
}

static bool has_key(const bench *b, const lampar_variant *v) {
  for (int i = 0; i < b->key_count; ++i) {
    const lampar_variant *other = &b->keys[i].variant;
    if (other->dtype == v->dtype && other->hidden == v->hidden && other->rounding == v->rounding &&
        strcmp(other->epilogue, v->epilogue) == 0)
      return true;
  }
  return false;
}

static lampar_status collect_keys(bench *b) {
  for (int p = 0; p < b->given->pack_count; ++p)
    for (uint32_t i = 0; i < b->pack[p]->header->record_count; ++i) {
      const lampar_variant *v = &b->pack[p]->records[i].variant;
      if (v->world != WORLD || v->epilogue[0] == '\0' || has_key(b, v)) continue;
      if (b->key_count == KEYS_MAX)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT, "more than %d epilogues", KEYS_MAX);
      b->keys[b->key_count++].variant = *v;
    }
  if (b->key_count == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "no pack has a fused kernel for %d ranks", WORLD);
  return LAMPAR_OK;
}

static size_t image_bytes(const bench *b) {
  const lampar_epilogue_call call = {.rows = ROWS_MAX};
  size_t most = 0;
  for (int i = 0; i < b->key_count; ++i) {
    const size_t bytes = lampar_epilogue_call_bytes(&b->keys[i].variant, &call);
    if (bytes > most) most = bytes;
  }
  return most;
}

static lampar_status open_station(lampar_rank *rank, void *user) {
  station *here = &((bench *)user)->station[rank->rank];
  for (int i = 0; i <= ((bench *)user)->given->replays; ++i)
    LAMPAR_TRY(check(rank, rank->driver->event_create(&here->event[i], LAMPAR_EVENT_DEFAULT),
                     "cuEventCreate"));
  return LAMPAR_OK;
}

static lampar_status close_station(lampar_rank *rank, void *user) {
  station *here = &((bench *)user)->station[rank->rank];
  for (int i = 0; i <= REPLAYS_MAX; ++i)
    if (here->event[i] != NULL) rank->driver->event_destroy(here->event[i]);
  return LAMPAR_OK;
}

static lampar_status run(bench *b) {
  for (int p = 0; p < b->given->pack_count; ++p)
    LAMPAR_TRY(lampar_pack_open(b->given->packs[p], &b->pack[p]));
  LAMPAR_TRY(collect_keys(b));
  LAMPAR_TRY(lampar_ranks_set_world(b->ranks, WORLD));
  LAMPAR_TRY(lampar_epilogue_trials_create(b->ranks, image_bytes(b), &b->trials));
  LAMPAR_TRY(lampar_ranks_run(b->ranks, open_station, b));
  for (int p = 0; p < b->given->pack_count; ++p)
    for (int programmatic = 0; programmatic < LAUNCHES; ++programmatic)
      LAMPAR_TRY(time_pack(b, p, programmatic));
  print_table(b);
  return LAMPAR_OK;
}

enum { OPTION_REPLAYS = 256 };

static const struct argp_option options[] = {
    {"replays", OPTION_REPLAYS, "N", 0, "Replays of each graph (default: 15)", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_REPLAYS:
    given->replays = atoi(value);
    if (given->replays < 1 || given->replays > REPLAYS_MAX)
      argp_error(state, "--replays %s: 1 to %d", value, REPLAYS_MAX);
    return 0;
  case ARGP_KEY_ARG:
    if (given->pack_count == PACKS_MAX) argp_error(state, "more than %d packs", PACKS_MAX);
    given->packs[given->pack_count++] = value;
    return 0;
  case ARGP_KEY_END:
    if (given->pack_count == 0) argp_error(state, "PACK is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  arguments given = {.replays = 15};
  const struct argp argp = {options, parse, "PACK...", "Times fused all-reduces on two GPUs.",
                            NULL,    NULL,  NULL};
  argp_err_exit_status = EXIT_BAD_INPUT;
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  bench *b = calloc(1, sizeof *b);
  if (b == NULL) return EXIT_BAD_INPUT;
  b->given = &given;
  lampar_status status = lampar_ranks_create(0, WORLD, 0, &b->ranks);
  const int gpus = status == LAMPAR_OK ? lampar_ranks_gpu_count(b->ranks) : 0;
  if (gpus < WORLD) {
    printf("skipped: %s\n", status != LAMPAR_OK ? lampar_last_error() : "two GPUs are needed");
    lampar_ranks_destroy(b->ranks);
    free(b);
    return EXIT_SKIPPED;
  }
  status = run(b);
  if (status != LAMPAR_OK) fprintf(stderr, "fused_latency: %s\n", lampar_last_error());
  lampar_ranks_close_group(b->ranks);
  lampar_ranks_run(b->ranks, close_station, b);
  lampar_epilogue_trials_destroy(b->trials);
  lampar_ranks_destroy(b->ranks);
  for (int p = 0; p < given.pack_count; ++p) lampar_pack_close(b->pack[p]);
  free(b);
  return status == LAMPAR_OK ? 0 : 1;
}
