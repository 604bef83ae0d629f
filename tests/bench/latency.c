/* Microseconds of one all-reduce on two GPUs, or on one that two ranks share: NCCL, and the kernels
 * of one or several packs, without and with programmatic launch. A CUDA graph of dependent calls is
 * replayed without a pause; the figure is the median over the replays of the slower rank. Then the
 * host's nanoseconds of one eager call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "graph_timer.h"
#include "pack/arguments.h"
#include "pack/dtype.h"
#include "packs.h"

enum {
  GRAPH_CALLS = 100,
  SHAPES_MAX = 512,
  EAGER_CALLS = 4000,
  EAGER_BURST = 40, /* calls between waits, so that the stream's queue never fills up */
  EXIT_BAD_INPUT = 2,
  EXIT_SKIPPED = 77,
};

typedef enum engine { ENGINE_NCCL, ENGINE_LAMPAR } engine;

typedef struct shape {
  lampar_dtype dtype;
  uint64_t rows, hidden;
} shape;

/* Buffers and events of one rank. */
typedef struct rank_buffers {
  lampar_device_pointer buffer[2]; /* each call reads one and writes the other */
  graph_timer timer;
} rank_buffers;

typedef struct bench {
  bench_packs packs;
  bool variants;
  lampar_nccl nccl;
  rank_buffers rank_buffers[WORLD];
  size_t buffer_bytes;
  shape shapes[SHAPES_MAX];
  int shape_count;
  double nccl_us[SHAPES_MAX];
  double us[SHAPES_MAX][PACKS_MAX][LAUNCHES]; /* without and with programmatic launch; 0: none */
  char kernel[SHAPES_MAX][PACKS_MAX][LAMPAR_NAME_BYTES];
} bench;

/* One figure being taken on both ranks. */
typedef struct task {
  bench *bench;
  engine engine;
  shape shape;
  const lampar_kernel_info *raw; /* eager: the bare launch of this kernel instead of a call */
  double result[WORLD];          /* us, or ns of the fastest call */
  double median[WORLD];          /* ns */
} task;

static uint64_t bytes_of(const shape *s) {
  return s->rows * s->hidden * lampar_dtype_bytes(s->dtype);
}

static lampar_status enqueue(lampar_rank *rank, const task *work, int index) {
  const rank_buffers *here = &work->bench->rank_buffers[rank->rank];
  const shape *s = &work->shape;
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)here->buffer[index % 2];
  call.output = (void *)(uintptr_t)here->buffer[(index + 1) % 2];
  call.rows = s->rows;
  call.hidden = s->hidden;
  call.dtype = s->dtype;
  if (work->engine == ENGINE_LAMPAR) return lampar_all_reduce(rank->group, &call, rank->stream[0]);
  const lampar_nccl *nccl = &work->bench->nccl;
  const int result =
      nccl->all_reduce(call.input, call.output, s->rows * s->hidden, lampar_nccl_dtype(s->dtype),
                       lampar_nccl_op(LAMPAR_SUM), rank->comm, rank->stream[0]);
  return lampar_nccl_check(nccl, result, "ncclAllReduce");
}

static lampar_status capture(lampar_rank *rank, const task *work, lampar_rank_graph *graph) {
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < GRAPH_CALLS && status == LAMPAR_OK; ++i) status = enqueue(rank, work, i);
  return lampar_rank_graph_end(rank, status, graph);
}

static lampar_status time_graph(lampar_rank *rank, void *user) {
  task *work = user;
  const lampar_driver *driver = rank->driver;
  rank_buffers *here = &work->bench->rank_buffers[rank->rank];
  lampar_rank_graph graph = {0};
  /* Zeros stay zeros, however often they are added. */
  for (int i = 0; i < 2; ++i)
    LAMPAR_TRY(
        lampar_rank_check(rank,
                          driver->memset_d32_async(here->buffer[i], 0,
                                                   work->bench->buffer_bytes / 4, rank->stream[0]),
                          "cuMemsetD32Async"));
  LAMPAR_TRY(lampar_rank_finish(rank));
  LAMPAR_TRY(lampar_rank_barrier(rank));
  LAMPAR_TRY(enqueue(rank, work, 0)); /* NCCL makes its connections with the first call */
  LAMPAR_TRY(lampar_rank_finish(rank));

  lampar_status status = capture(rank, work, &graph);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK)
    status = graph_timer_run(&here->timer, rank, &graph, &work->result[rank->rank]);
  work->result[rank->rank] /= GRAPH_CALLS;
  lampar_rank_graph_free(rank, &graph);
  return status;
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The driver's own part of a call: one block of the kernel that finds no mailbox to serve. */
typedef struct bare_launch {
  struct CUlib_st *library;
  struct CUfunc_st *function;
  lampar_launch_config config;
  lampar_arguments arguments;
} bare_launch;

static lampar_status bare_launch_open(lampar_rank *rank, const lampar_kernel_info *info,
                                      bare_launch *bare) {
  const lampar_driver *driver = rank->driver;
  struct CUkern_st *kernel;
  *bare = (bare_launch){.config = {.grid_x = 1,
                                   .grid_y = 1,
                                   .grid_z = 1,
                                   .block_x = info->threads,
                                   .block_y = 1,
                                   .block_z = 1,
                                   .stream = rank->stream[0]}};
  LAMPAR_TRY(lampar_rank_check(
      rank, driver->library_load(&bare->library, info->code, NULL, NULL, 0, NULL, NULL, 0),
      "cuLibraryLoadData"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->library_kernel(&kernel, bare->library, info->name),
                               "cuLibraryGetKernel"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->kernel_function(&bare->function, kernel),
                               "cuKernelGetFunction"));
  return lampar_rank_check(rank, driver->function_load(bare->function), "cuFuncLoad");
}

static lampar_status time_calls(lampar_rank *rank, task *work, bare_launch *bare) {
  static const int first = EAGER_BURST; /* the first burst is warm-up */
  double *ns = calloc(EAGER_CALLS, sizeof *ns);
  if (ns == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < EAGER_CALLS && status == LAMPAR_OK; ++i) {
    const double start = now_ns();
    if (bare != NULL)
      status = lampar_rank_check(
          rank,
          rank->driver->launch(&bare->config, bare->function, (void *[]){&bare->arguments}, NULL),
          "cuLaunchKernelEx");
    else status = enqueue(rank, work, i);
    ns[i] = now_ns() - start;
    if (status == LAMPAR_OK && i % EAGER_BURST == EAGER_BURST - 1)
      status = lampar_rank_finish(rank);
  }
  if (status == LAMPAR_OK) {
    work->median[rank->rank] = median_of(ns + first, EAGER_CALLS - first);
    work->result[rank->rank] = ns[first]; /* sorted by now: the fastest */
  }
  free(ns);
  return status;
}

static lampar_status time_eager(lampar_rank *rank, void *user) {
  task *work = user;
  bare_launch bare = {0};
  lampar_status status = LAMPAR_OK;
  if (work->raw != NULL) status = bare_launch_open(rank, work->raw, &bare);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK) status = time_calls(rank, work, work->raw != NULL ? &bare : NULL);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (bare.library != NULL) rank->driver->library_unload(bare.library);
  return status;
}

static lampar_status time_shape(bench *b, engine engine, const shape *s, double *us) {
  task work = {.bench = b, .engine = engine, .shape = *s};
  LAMPAR_TRY(lampar_ranks_run(b->packs.ranks, time_graph, &work));
  *us = slower(work.result);
  return LAMPAR_OK;
}

/* The kernel that a shape gets, with the threads of its blocks; false: none. */
static bool find_kernel(const bench *b, int pack, const shape *s, lampar_kernel_info *info) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.dtype = s->dtype;
  call.rows = s->rows;
  call.hidden = s->hidden;
  return bench_packs_find(&b->packs, pack, &call, info);
}

static lampar_status print_eager(bench *b, const char *name, engine engine, const shape *s,
                                 const lampar_kernel_info *raw) {
  task work = {.bench = b, .engine = engine, .shape = *s, .raw = raw};
  LAMPAR_TRY(lampar_ranks_run(b->packs.ranks, time_eager, &work));
  printf("eager %llu x %llu %s, host time of one call, %-28s min %6.0f ns, median %6.0f ns\n",
         (unsigned long long)s->rows, (unsigned long long)s->hidden, lampar_dtype_name(s->dtype),
         name, slower(work.result), slower(work.median));
  return LAMPAR_OK;
}

static lampar_status time_pack(bench *b, int pack, int programmatic) {
  LAMPAR_TRY(bench_packs_open_group(&b->packs, pack, programmatic));
  fprintf(stderr, "%s, %s\n", b->packs.path[pack],
          lampar_group_report(lampar_ranks_at(b->packs.ranks, 0)->group));
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  for (int i = 0; i < b->shape_count; ++i) {
    const shape *s = &b->shapes[i];
    if (!find_kernel(b, pack, s, &info)) continue;
    snprintf(b->kernel[i][pack], LAMPAR_NAME_BYTES, "%.80s t%u", info.name, info.threads);
    LAMPAR_TRY(time_shape(b, ENGINE_LAMPAR, s, &b->us[i][pack][programmatic]));
  }
  const shape *smallest = &b->shapes[0];
  if (find_kernel(b, pack, smallest, &info)) {
    LAMPAR_TRY(print_eager(b, programmatic ? "lampar, programmatic" : "lampar", ENGINE_LAMPAR,
                           smallest, NULL));
    LAMPAR_TRY(print_eager(b, "cuLaunchKernelEx alone", ENGINE_LAMPAR, smallest, &info));
  }
  return lampar_ranks_close_group(b->packs.ranks);
}

static lampar_status time_nccl(bench *b) {
  int version = 0;
  LAMPAR_TRY(lampar_nccl_open(&b->nccl));
  LAMPAR_TRY(lampar_ranks_connect(b->packs.ranks, NULL));
  LAMPAR_TRY(lampar_nccl_check(&b->nccl, b->nccl.version(&version), "ncclGetVersion"));
  fprintf(stderr, "NCCL %d, %s\n", version, b->nccl.library.path);
  for (int i = 0; i < b->shape_count; ++i)
    LAMPAR_TRY(time_shape(b, ENGINE_NCCL, &b->shapes[i], &b->nccl_us[i]));
  return print_eager(b, "NCCL", ENGINE_NCCL, &b->shapes[0], NULL);
}

static void print_table(const bench *b) {
  printf("\n%6s %9s %5s %9s %8s", "rows", "length", "dtype", "bytes", "nccl us");
  for (int p = 0; p < b->packs.count; ++p) printf("  %9s %9s %6s", "lampar us", "pdl us", "ratio");
  printf("  kernels\n");
  for (int i = 0; i < b->shape_count; ++i) {
    const shape *s = &b->shapes[i];
    printf("%6llu %9llu %5s %9llu %8.2f", (unsigned long long)s->rows,
           (unsigned long long)s->hidden, lampar_dtype_name(s->dtype),
           (unsigned long long)bytes_of(s), b->nccl_us[i]);
    for (int p = 0; p < b->packs.count; ++p) {
      const double plain = b->us[i][p][0], programmatic = b->us[i][p][1];
      const double best = programmatic < plain ? programmatic : plain;
      if (b->kernel[i][p][0] == '\0') printf("  %9s %9s %6s", "-", "-", "-");
      else if (b->packs.is_shared) printf("  %9.2f %9s %6s", plain, "-", "-");
      else printf("  %9.2f %9.2f %6.3f", plain, programmatic, best / b->nccl_us[i]);
    }
    for (int p = 0; p < b->packs.count; ++p)
      printf("  %s", b->kernel[i][p][0] != '\0' ? b->kernel[i][p] : "-");
    printf("\n");
  }
  bench_packs_print(&b->packs);
}

static bool add_shape(bench *b, shape s) {
  for (int i = 0; i < b->shape_count; ++i)
    if (b->shapes[i].dtype == s.dtype && b->shapes[i].rows == s.rows &&
        b->shapes[i].hidden == s.hidden)
      return true;
  if (b->shape_count == SHAPES_MAX) return false;
  b->shapes[b->shape_count++] = s;
  if (bytes_of(&s) > b->buffer_bytes) b->buffer_bytes = bytes_of(&s);
  return true;
}

/* The largest call of every kernel of the packs, or the shapes that are always looked at. */
static lampar_status choose_shapes(bench *b) {
  bool complete = true;
  if (b->variants) {
    for (int p = 0; p < b->packs.count; ++p)
      for (size_t i = 0; i < lampar_pack_count(b->packs.pack[p]); ++i) {
        lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
        LAMPAR_TRY(lampar_pack_info(b->packs.pack[p], i, &info));
        if (info.world != WORLD) continue;
        const shape s = {info.dtype, info.hidden > 0 ? info.max_rows : 1,
                         info.hidden > 0 ? info.hidden
                                         : info.max_bytes / lampar_dtype_bytes(info.dtype)};
        complete = add_shape(b, s) && complete;
      }
  } else {
    for (uint64_t rows = 1; rows <= 128; rows *= 2)
      complete = add_shape(b, (shape){LAMPAR_BF16, rows, 7168}) && complete;
    for (uint64_t bytes = 512; bytes <= 2 << 20; bytes *= 2)
      complete = add_shape(b, (shape){LAMPAR_BF16, 1, bytes / 2}) && complete;
  }
  if (!complete) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "more than %d shapes", SHAPES_MAX);
  if (b->shape_count == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "no pack has a kernel for %d ranks", WORLD);
  b->buffer_bytes = (b->buffer_bytes + 15) / 16 * 16;
  return LAMPAR_OK;
}

static lampar_status open_buffers(lampar_rank *rank, void *user) {
  bench *b = user;
  rank_buffers *here = &b->rank_buffers[rank->rank];
  for (int i = 0; i < 2; ++i)
    LAMPAR_TRY(lampar_rank_check(
        rank, rank->driver->memory_alloc(&here->buffer[i], b->buffer_bytes), "cuMemAlloc"));
  return graph_timer_open(&here->timer, rank, b->packs.replays);
}

static lampar_status close_buffers(lampar_rank *rank, void *user) {
  rank_buffers *here = &((bench *)user)->rank_buffers[rank->rank];
  for (int i = 0; i < 2; ++i)
    if (here->buffer[i] != 0) rank->driver->memory_free(here->buffer[i]);
  graph_timer_close(&here->timer, rank);
  return LAMPAR_OK;
}

static lampar_status run(bench *b) {
  LAMPAR_TRY(choose_shapes(b));
  LAMPAR_TRY(lampar_ranks_run(b->packs.ranks, open_buffers, b));
  if (!b->packs.is_shared) LAMPAR_TRY(time_nccl(b));
  for (int p = 0; p < b->packs.count; ++p)
    for (int programmatic = 0; programmatic < bench_packs_launches(&b->packs); ++programmatic)
      LAMPAR_TRY(time_pack(b, p, programmatic));
  print_table(b);
  return LAMPAR_OK;
}

enum { OPTION_VARIANTS = 257 };

static const struct argp_option options[] = {
    {"variants", OPTION_VARIANTS, NULL, 0,
     "Time the largest call of every kernel of the packs, instead of the usual shapes", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  bench *const b = state->input;
  (void)value;
  switch (key) {
  case ARGP_KEY_INIT: state->child_inputs[0] = &b->packs; return 0;
  case OPTION_VARIANTS: b->variants = true; return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const struct argp_child children[] = {{&bench_packs_argp, 0, NULL, 0}, {0}};
  const struct argp argp = {options,  parse, NULL, "Times all-reduces on two GPUs.",
                            children, NULL,  NULL};
  argp_err_exit_status = EXIT_BAD_INPUT;
  bench *b = calloc(1, sizeof *b);
  if (b == NULL) return EXIT_BAD_INPUT;
  b->packs.replays = REPLAYS_DEFAULT;
  argp_parse(&argp, argc, argv, 0, NULL, b);

  const char *skipped;
  lampar_status status = bench_packs_open(&b->packs, &skipped);
  if (skipped != NULL) {
    printf("skipped: %s\n", skipped);
    bench_packs_close(&b->packs);
    free(b);
    return EXIT_SKIPPED;
  }
  if (status == LAMPAR_OK) status = run(b);
  if (status != LAMPAR_OK) fprintf(stderr, "latency: %s\n", lampar_last_error());
  lampar_ranks_close_group(b->packs.ranks);
  lampar_ranks_run(b->packs.ranks, close_buffers, b);
  bench_packs_close(&b->packs);
  free(b);
  return status == LAMPAR_OK ? 0 : 1;
}
