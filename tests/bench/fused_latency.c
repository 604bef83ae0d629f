/* Microseconds of fused kernels on two GPUs: an all-reduce with its epilogue, without and with
 * programmatic launch, for the kernels of one or several packs. A CUDA graph of dependent calls is
 * replayed without a pause; the figure is the median over the replays of the slower rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph_timer.h"
#include "pack/dtype.h"
#include "pack/pack_read.h"
#include "packs.h"
#include "verify/batch_check.h"

enum {
  GRAPH_CALLS = 100,
  KEYS_MAX = 64,
  ROWS_MAX = 128,
  EXIT_BAD_INPUT = 2,
  EXIT_SKIPPED = 77,
};

static const uint64_t rows_of[] = {1, 8, 32, 128};
enum { SIZES = sizeof rows_of / sizeof rows_of[0] };

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

typedef struct bench {
  bench_packs packs;
  lampar_batches *batches;
  graph_timer timer[WORLD];
  fused_key keys[KEYS_MAX];
  int key_count;
} bench;

/* One figure being taken on both ranks. */
typedef struct task {
  bench *bench;
  const lampar_batch_data *data;
  uint64_t rows;
  double result[WORLD]; /* us */
} task;

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

static lampar_status capture(lampar_rank *rank, lampar_batch *batch, lampar_rank_graph *graph) {
  lampar_call call = lampar_batch_get(batch, 0);
  lampar_operand operands[LAMPAR_OPERANDS_MAX];
  memcpy(operands, call.operands, call.operand_count * sizeof *operands);
  call.operands = operands;
  LAMPAR_TRY(lampar_rank_graph_begin(rank));
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < GRAPH_CALLS && status == LAMPAR_OK; ++i) {
    status = lampar_all_reduce(rank->group, &call, rank->stream[0]);
    swap_residuals(operands, call.operand_count);
  }
  return lampar_rank_graph_end(rank, status, graph);
}

static lampar_status time_graph(lampar_rank *rank, void *user) {
  task *work = user;
  lampar_batch *batch = lampar_batches_get(work->bench->batches, rank);
  const lampar_check_call call = {.rows = work->rows};
  lampar_rank_graph graph = {0};
  LAMPAR_TRY(lampar_batch_prepare(batch, work->data, &call, 1));
  lampar_status status = capture(rank, batch, &graph);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK)
    status =
        graph_timer_run(&work->bench->timer[rank->rank], rank, &graph, &work->result[rank->rank]);
  work->result[rank->rank] /= GRAPH_CALLS;
  lampar_rank_graph_free(rank, &graph);
  return status;
}

/* The kernel that takes a call of so many rows; false: none does. */
static bool find_kernel(const bench *b, int pack, const lampar_variant *v, uint64_t rows,
                        lampar_kernel_info *info) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.dtype = (lampar_dtype)v->dtype;
  call.rows = rows;
  call.hidden = v->hidden;
  call.epilogue = v->epilogue;
  call.rounding = (lampar_rounding)v->rounding;
  return bench_packs_find(&b->packs, pack, &call, info);
}

static lampar_status time_key(bench *b, int pack, int programmatic, fused_key *key) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(lampar_epilogue_samples_create(&key->variant, ROWS_MAX, 1, 0, &samples));
  lampar_status status = LAMPAR_OK;
  for (int i = 0; i < SIZES && status == LAMPAR_OK; ++i) {
    figure *f = &key->figures[i][pack];
    if (!find_kernel(b, pack, &key->variant, rows_of[i], &f->kernel)) continue;
    const lampar_batch_data data = {.fused = &samples};
    task work = {.bench = b, .data = &data, .rows = rows_of[i]};
    status = lampar_ranks_run(b->packs.ranks, time_graph, &work);
    f->us[programmatic] = slower(work.result);
  }
  lampar_epilogue_samples_destroy(&samples);
  return status;
}

static lampar_status time_pack(bench *b, int pack, int programmatic) {
  LAMPAR_TRY(bench_packs_open_group(&b->packs, pack, programmatic));
  for (int i = 0; i < b->key_count; ++i) LAMPAR_TRY(time_key(b, pack, programmatic, &b->keys[i]));
  return lampar_ranks_close_group(b->packs.ranks);
}

static void print_figure(const fused_key *key, int size, int pack) {
  const figure *f = &key->figures[size][pack];
  if (f->us[0] == 0) return;
  printf("%-40s %4s %6u %4llu %4d %7.2f %7.2f %5u %4u %5u %4u %6u  %s\n", key->variant.epilogue,
         lampar_dtype_name(key->variant.dtype), key->variant.hidden,
         (unsigned long long)rows_of[size], pack + 1, f->us[0], f->us[1], f->kernel.threads,
         f->kernel.cluster, f->kernel.vectors_per_warp, f->kernel.registers, f->kernel.spill_bytes,
         f->kernel.name);
}

static void print_table(const bench *b) {
  printf("%-40s %4s %6s %4s %4s %7s %7s %5s %4s %5s %4s %6s  %s\n", "epilogue", "", "hidden",
         "rows", "pack", "us", "pdl us", "thr", "clus", "vect", "reg", "spills", "kernel");
  for (int k = 0; k < b->key_count; ++k)
    for (int size = 0; size < SIZES; ++size)
      for (int pack = 0; pack < b->packs.count; ++pack) print_figure(&b->keys[k], size, pack);
  bench_packs_print(&b->packs);
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
  for (int p = 0; p < b->packs.count; ++p)
    for (uint32_t i = 0; i < b->packs.pack[p]->header->record_count; ++i) {
      const lampar_variant *v = &b->packs.pack[p]->kernels[i].variant;
      if (v->world != WORLD || v->epilogue[0] == '\0' || has_key(b, v)) continue;
      if (b->key_count == KEYS_MAX)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT, "more than %d epilogues", KEYS_MAX);
      b->keys[b->key_count++].variant = *v;
    }
  if (b->key_count == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "no pack has a fused kernel for %d ranks", WORLD);
  return LAMPAR_OK;
}

static size_t buffer_bytes(const bench *b) {
  const lampar_check_call call = {.rows = ROWS_MAX};
  size_t most = 0;
  for (int i = 0; i < b->key_count; ++i) {
    const size_t bytes = lampar_layout_bytes(&b->keys[i].variant, &call);
    if (bytes > most) most = bytes;
  }
  return most;
}

static lampar_status open_timer(lampar_rank *rank, void *user) {
  bench *b = user;
  return graph_timer_open(&b->timer[rank->rank], rank, b->packs.replays);
}

static lampar_status close_timer(lampar_rank *rank, void *user) {
  graph_timer_close(&((bench *)user)->timer[rank->rank], rank);
  return LAMPAR_OK;
}

static lampar_status run(bench *b) {
  LAMPAR_TRY(collect_keys(b));
  LAMPAR_TRY(lampar_batches_create(b->packs.ranks, buffer_bytes(b), &b->batches));
  LAMPAR_TRY(lampar_ranks_run(b->packs.ranks, open_timer, b));
  for (int p = 0; p < b->packs.count; ++p)
    for (int programmatic = 0; programmatic < bench_packs_launches(&b->packs); ++programmatic)
      LAMPAR_TRY(time_pack(b, p, programmatic));
  print_table(b);
  return LAMPAR_OK;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct argp argp = bench_packs_argp;
  argp.doc = "Times fused all-reduces on two GPUs.";
  argp_err_exit_status = EXIT_BAD_INPUT;
  bench *b = calloc(1, sizeof *b);
  if (b == NULL) return EXIT_BAD_INPUT;
  b->packs.replays = REPLAYS_DEFAULT;
  argp_parse(&argp, argc, argv, 0, NULL, &b->packs);

  const char *skipped;
  lampar_status status = bench_packs_open(&b->packs, &skipped);
  if (skipped != NULL) {
    printf("skipped: %s\n", skipped);
    bench_packs_close(&b->packs);
    free(b);
    return EXIT_SKIPPED;
  }
  if (status == LAMPAR_OK) status = run(b);
  if (status != LAMPAR_OK) fprintf(stderr, "fused_latency: %s\n", lampar_last_error());
  lampar_ranks_close_group(b->packs.ranks);
  lampar_ranks_run(b->packs.ranks, close_timer, b);
  lampar_batches_destroy(b->batches);
  bench_packs_close(&b->packs);
  free(b);
  return status == LAMPAR_OK ? 0 : 1;
}
