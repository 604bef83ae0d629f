/* Fused kernels, one line for each epilogue and shape: results against the reference, and one hash
 * for all ranks, runs, numbers of rows, geometries, algorithms and for NCCL with the epilogue's own
 * kernel. Exit status 0 when all pass, 1 when one fails, 77 with the reason when there is no GPU.
 */
#include <argp.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fused.h"
#include "group/kernels.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/pack_read.h"

enum { EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77, KEYS_MAX = 256 };

typedef struct arguments {
  const char *packs[GOLDEN_ROWS_PACKS];
  int pack_count, world; /* 0: all */
  uint64_t rows;
  const char *filter;
  bool probe;
} arguments;

typedef struct test {
  const arguments *given;
  fused_fixture fixture;
  uint32_t capability;
  fused_key *keys[KEYS_MAX]; /* of the world at hand */
  int key_count;
  int passed, failed;
} test;

enum { OPTION_ROWS = 256, OPTION_WORLD, OPTION_FILTER, OPTION_PROBE };

static const struct argp_option options[] = {
    {"rows", OPTION_ROWS, "N", 0, "Most rows of a call (default: 128)", 0},
    {"world", OPTION_WORLD, "N", 0, "Only kernels for N ranks", 0},
    {"filter", OPTION_FILTER, "PATTERN", 0, "Only epilogues that match, as a shell does", 0},
    {"probe", OPTION_PROBE, NULL, 0,
     "End with 0 if there is a device, else say why not and end with 77", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_ROWS:
    given->rows = strtoull(value, NULL, 10);
    if (given->rows < 1 || given->rows > ROWS_MAX)
      argp_error(state, "--rows %s: 1 to %d", value, ROWS_MAX);
    return 0;
  case OPTION_WORLD:
    given->world = atoi(value);
    if (given->world < 2 || given->world > LAMPAR_WORLD_MAX)
      argp_error(state, "--world %s: 2 to %d", value, LAMPAR_WORLD_MAX);
    return 0;
  case OPTION_FILTER: given->filter = value; return 0;
  case OPTION_PROBE: given->probe = true; return 0;
  case ARGP_KEY_ARG:
    if (given->pack_count == GOLDEN_ROWS_PACKS)
      argp_error(state, "more than %d packs", GOLDEN_ROWS_PACKS);
    given->packs[given->pack_count++] = value;
    return 0;
  case ARGP_KEY_END:
    if (given->pack_count == 0 && !given->probe) argp_error(state, "PACK is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static bool is_same_key(const lampar_variant *a, const lampar_variant *b) {
  return a->world == b->world && a->dtype == b->dtype && a->hidden == b->hidden &&
         a->rounding == b->rounding && strcmp(a->epilogue, b->epilogue) == 0;
}

static lampar_status add_key(test *t, const lampar_variant *variant) {
  for (int i = 0; i < t->key_count; ++i) {
    if (!is_same_key(&t->keys[i]->variant, variant)) continue;
    if (variant->max_rows > t->keys[i]->max_rows) t->keys[i]->max_rows = variant->max_rows;
    return LAMPAR_OK;
  }
  fused_key *key = t->key_count < KEYS_MAX ? calloc(1, sizeof *key) : NULL;
  if (key == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "no room for %d epilogues", KEYS_MAX + 1);
  key->variant = *variant;
  key->max_rows = variant->max_rows;
  golden_rows_open(&key->golden_rows);
  golden_rows_open(&key->own_quantized);
  key->quantized = &key->own_quantized;
  t->keys[t->key_count++] = key;
  return LAMPAR_OK;
}

/* An epilogue with norm_out and the same one without share what they must store alike: there the
 * norm is not seen, and only so known bit for bit. */
static void join_twins(test *t) {
  static const char norm_out[] = "+norm_out";
  for (int i = 0; i < t->key_count; ++i) {
    lampar_variant without = t->keys[i]->variant;
    char *const at = strstr(without.epilogue, norm_out);
    if (at == NULL) continue;
    memmove(at, at + sizeof norm_out - 1, strlen(at + sizeof norm_out - 1) + 1);
    for (int j = 0; j < t->key_count; ++j)
      if (is_same_key(&t->keys[j]->variant, &without))
        t->keys[i]->quantized = t->keys[j]->quantized;
  }
}

static void forget_keys(test *t) {
  for (int i = 0; i < t->key_count; ++i) {
    golden_rows_close(&t->keys[i]->golden_rows);
    golden_rows_close(&t->keys[i]->own_quantized);
    free(t->keys[i]);
  }
  t->key_count = 0;
}

static lampar_status collect_keys(test *t, int world) {
  lampar_pack *pack = t->fixture.pack[0];
  const uint32_t arch = lampar_kernels_arch(&pack, 1, t->capability, (uint32_t)world);
  forget_keys(t);
  for (uint32_t i = 0; i < pack->header->record_count; ++i) {
    const lampar_variant *v = &pack->kernels[i].variant;
    if (v->arch == arch && v->world == (uint32_t)world && v->epilogue[0] != '\0' &&
        (t->given->filter == NULL || fnmatch(t->given->filter, v->epilogue, 0) == 0))
      LAMPAR_TRY(add_key(t, v));
  }
  join_twins(t);
  return LAMPAR_OK;
}

typedef enum path {
  PATH_FUSED,
  PATH_NCCL,         /* groups that are not enabled: NCCL, then the epilogue's own kernel */
  PATH_EPILOGUE_ONLY /* a group of one rank: the epilogue's own kernel */
} path;

static const char *const path_names[] = {"", " with NCCL", " unfused"};

/* Kernels of ranks that share a GPU must not start early: one pack of two is run that way. */
static lampar_status open_group(test *t, int pack, path path) {
  const bool has_gpu_each =
      lampar_ranks_gpu_count(t->fixture.ranks) >= lampar_ranks_at(t->fixture.ranks, 0)->world;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = path != PATH_NCCL;
  config.strict = path == PATH_FUSED;
  config.programmatic_launch = has_gpu_each && pack % 2 == 1;
  config.watchdog_ms = WATCHDOG_MS;
  return lampar_ranks_open_group(t->fixture.ranks, &t->fixture.pack[pack], 1, &config);
}

static lampar_status run_checks(test *t, fused_key *key, int pack, path path) {
  if (path == PATH_NCCL) return check_fused_fallback(&t->fixture, key, pack);
  if (path == PATH_EPILOGUE_ONLY) return check_epilogue_only(&t->fixture, key, pack);
  if (pack == 0) LAMPAR_TRY(check_fused_operands(&t->fixture, key));
  LAMPAR_TRY(check_fused_values(&t->fixture, key, pack));
  LAMPAR_TRY(check_fused_rows(&t->fixture, key, pack));
  return check_fused_graphs(&t->fixture, key, pack);
}

/* A group whose kernel failed is over: the next epilogue gets a new one. */
static lampar_status run_keys(test *t, int pack, path path) {
  LAMPAR_TRY(open_group(t, pack, path));
  for (int i = 0; i < t->key_count; ++i) {
    fused_key *key = t->keys[i];
    if (key->failure[0] != '\0') continue;
    /* Between two kernels a sum is rounded to the dtype. */
    if (path != PATH_FUSED && key->variant.rounding == LAMPAR_ROUNDING_FP32 &&
        key->variant.dtype != LAMPAR_F32)
      continue;
    if (run_checks(t, key, pack, path) == LAMPAR_OK) continue;
    snprintf(key->failure, sizeof key->failure, "pack %d%s: %.900s", pack + 1, path_names[path],
             lampar_last_error());
    fprintf(stderr, "%s: FAILED\n", key->variant.epilogue);
    lampar_ranks_close_group(t->fixture.ranks);
    LAMPAR_TRY(open_group(t, pack, path));
  }
  return lampar_ranks_close_group(t->fixture.ranks);
}

static void print_key(test *t, const fused_key *key) {
  const lampar_variant *v = &key->variant;
  char hex[LAMPAR_DIGEST_HEX];
  printf("%-52s %4s %6u %2u %-7s %6llu", v->epilogue, lampar_dtype_name(v->dtype), v->hidden,
         v->world, lampar_rounding_name(v->rounding), (unsigned long long)key->calls);
  for (int pack = 0; pack < t->fixture.pack_count; ++pack) {
    int rows;
    golden_rows_hash(&key->golden_rows, pack, hex, &rows);
    printf(" %.8s/%d", hex, rows);
  }
  printf(" %-4s  %s%s\n", key->has_nccl ? "nccl" : "-", key->failure[0] == '\0' ? "ok" : "FAILED ",
         key->failure);
  if (key->failure[0] == '\0') ++t->passed;
  else ++t->failed;
}

static lampar_status run_world(test *t, int world) {
  LAMPAR_TRY(collect_keys(t, world));
  if (t->key_count == 0) return LAMPAR_OK;
  LAMPAR_TRY(lampar_ranks_set_world(t->fixture.ranks, world));
  for (int pack = 0; pack < t->fixture.pack_count; ++pack)
    LAMPAR_TRY(run_keys(t, pack, PATH_FUSED));
  /* NCCL takes one rank a GPU, and of more than two it chooses the order of the sum. */
  if (world == 2 && lampar_ranks_gpu_count(t->fixture.ranks) >= world) {
    LAMPAR_TRY(lampar_ranks_connect(t->fixture.ranks, NULL));
    LAMPAR_TRY(run_keys(t, 0, PATH_NCCL));
    lampar_ranks_disconnect(t->fixture.ranks);
  }
  LAMPAR_TRY(lampar_ranks_set_world(t->fixture.ranks, 1));
  for (int pack = 0; pack < t->fixture.pack_count; ++pack)
    LAMPAR_TRY(run_keys(t, pack, PATH_EPILOGUE_ONLY));
  for (int i = 0; i < t->key_count; ++i) print_key(t, t->keys[i]);
  return LAMPAR_OK;
}

/* The largest call of any kernel, and a little more. */
static size_t buffer_bytes(const test *t) {
  size_t most = 0;
  for (uint32_t i = 0; i < t->fixture.pack[0]->header->record_count; ++i) {
    const lampar_variant *v = &t->fixture.pack[0]->kernels[i].variant;
    const lampar_check_call call = {.rows = t->fixture.rows, .gap = 16, .rank_gap = 8};
    if (v->epilogue[0] == '\0') continue;
    const size_t bytes = lampar_layout_bytes(v, &call);
    if (bytes > most) most = bytes;
  }
  return most + (8 << 20);
}

static lampar_status run(test *t) {
  int most = 0;
  for (int p = 0; p < t->given->pack_count; ++p) {
    LAMPAR_TRY(lampar_pack_open(t->given->packs[p], &t->fixture.pack[p]));
    ++t->fixture.pack_count;
  }
  for (uint32_t i = 0; i < t->fixture.pack[0]->header->record_count; ++i)
    if ((int)t->fixture.pack[0]->kernels[i].variant.world > most)
      most = (int)t->fixture.pack[0]->kernels[i].variant.world;
  LAMPAR_TRY(lampar_ranks_create(0, most, 0, &t->fixture.ranks));
  LAMPAR_TRY(lampar_ranks_capability(t->fixture.ranks, &t->capability));
  LAMPAR_TRY(lampar_batches_create(t->fixture.ranks, buffer_bytes(t), &t->fixture.batches));
  printf("%-52s %4s %6s %2s %-7s %6s one hash a pack/rows\n", "epilogue", "", "hidden", "w",
         "rounds", "calls");
  for (int world = 2; world <= most; ++world)
    if (t->given->world == 0 || t->given->world == world) LAMPAR_TRY(run_world(t, world));
  for (int p = 0; p < t->fixture.pack_count; ++p)
    printf("pack %d: %s %s\n", p + 1, t->given->packs[p], lampar_pack_digest(t->fixture.pack[p]));
  printf("%d passed, %d failed\n", t->passed, t->failed);
  return LAMPAR_OK;
}

static int probe(void) {
  lampar_ranks *ranks = NULL;
  if (lampar_ranks_create(0, 1, 0, &ranks) != LAMPAR_OK) {
    printf("skipped: %s\n", lampar_last_error());
    return EXIT_SKIPPED;
  }
  lampar_ranks_destroy(ranks);
  return 0;
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  arguments given = {.rows = ROWS_MAX};
  const struct argp argp = {
      options,
      parse,
      "PACK...",
      "Runs the fused kernels of a pack; further packs hold the same ones in other geometries.",
      NULL,
      NULL,
      NULL};
  argp_err_exit_status = EXIT_BAD_INPUT;
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  if (given.probe) return probe();
  test *t = calloc(1, sizeof *t);
  if (t == NULL) return EXIT_BAD_INPUT;
  t->given = &given;
  t->fixture.rows = given.rows;
  const lampar_status status = run(t);
  const bool no_gpu = status == LAMPAR_ERROR_DRIVER && t->fixture.ranks == NULL;
  if (status != LAMPAR_OK)
    fprintf(stderr, "%s: %s\n", no_gpu ? "skipped" : "fused_test", lampar_last_error());
  const bool failed = status != LAMPAR_OK || t->failed > 0 || t->passed == 0;
  forget_keys(t);
  lampar_batches_destroy(t->fixture.batches);
  lampar_ranks_destroy(t->fixture.ranks);
  for (int p = 0; p < t->fixture.pack_count; ++p) lampar_pack_close(t->fixture.pack[p]);
  free(t);
  return no_gpu ? EXIT_SKIPPED : failed;
}
