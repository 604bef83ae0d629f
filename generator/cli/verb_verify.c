#include <argp.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "cli/verbs.h"
#include "group/kernels.h"
#include "lampar/lampar_jit.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/pack_read.h"
#include "plan/plan.h"
#include "spec/spec.h"
#include "verify/epilogue_verify.h"

enum {
  SIZES_MAX = 4,
  CALLS = 16,               /* of a kernel in a row: every mailbox is used many times */
  MARGIN_ELEMENTS = 100000, /* that samples are longer than the largest call */
  EPILOGUE_ONLY_ROWS = 64, /* of the largest call of an epilogue's own kernel, which has no limit */
  WATCHDOG_MS = 5000,
  SCHEDULES_MAX = 1000000,
};

typedef struct arguments {
  const char *pack, *filter;
  int world; /* 0: all */
  uint64_t seed;
  bool is_emulated;
  unsigned schedules;
} arguments;

enum { OPTION_DEVICE = 256, OPTION_WORLD, OPTION_SEED, OPTION_SCHEDULES, OPTION_FILTER };

static const struct argp_option options[] = {
    {"device", OPTION_DEVICE, "gpu|emu", 0,
     "Run on the GPUs of this machine (default) or on the emulated device, which needs no GPU", 0},
    {"world", OPTION_WORLD, "N", 0,
     "Run only kernels for N ranks (default: every number in the pack)", 0},
    {"seed", OPTION_SEED, "S", 0, "Seed of the random data (default: 1)", 0},
    {"schedules", OPTION_SCHEDULES, "K", 0,
     "Run each kernel under K schedules of the emulated device: seeds S to S+K-1 (default: 1)", 0},
    {"filter", OPTION_FILTER, "PATTERN", 0, "Run only kernels whose name matches the shell pattern",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  char *end;
  switch (key) {
  case OPTION_DEVICE:
    given->is_emulated = strcmp(value, "emu") == 0;
    if (!given->is_emulated && strcmp(value, "gpu") != 0)
      argp_error(state, "--device %s: expected gpu or emu", value);
    return 0;
  case OPTION_WORLD:
    given->world = (int)strtol(value, &end, 10);
    if (*end != '\0' || given->world < 1 || given->world > LAMPAR_WORLD_MAX)
      argp_error(state, "--world %s: expected 1 to %d ranks", value, LAMPAR_WORLD_MAX);
    return 0;
  case OPTION_SEED:
    given->seed = strtoull(value, &end, 0);
    if (*value == '\0' || *end != '\0') argp_error(state, "--seed %s: expected a number", value);
    return 0;
  case OPTION_SCHEDULES: {
    const unsigned long schedules = strtoul(value, &end, 10);
    if (*end != '\0' || schedules < 1 || schedules > SCHEDULES_MAX)
      argp_error(state, "--schedules %s: expected 1 to %d", value, SCHEDULES_MAX);
    given->schedules = (unsigned)schedules;
    return 0;
  }
  case OPTION_FILTER: given->filter = value; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one PACK");
    given->pack = value;
    return 0;
  case ARGP_KEY_END:
    if (given->pack == NULL) argp_error(state, "PACK is missing");
    if (given->schedules > 1 && !given->is_emulated)
      argp_error(state, "--schedules %u: only --device emu has schedules", given->schedules);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

typedef struct verification {
  const arguments *given;
  lampar_pack *pack;
  lampar_ranks *ranks;
  lampar_batches *batches;
  lampar_samples samples[LAMPAR_BATCH_DTYPES]; /* of the world at hand */
  uint32_t capability;
  size_t right, wrong, not_run;
} verification;

typedef struct shape {
  uint64_t rows, hidden;
} shape;

/* Of a kernel whose calls were all right. */
typedef struct outcome {
  size_t calls;       /* 0: no size chooses it */
  bool has_reference; /* false: a stage of a user's own; the ranks have been compared */
} outcome;

static bool is_wanted(const verification *v, const lampar_kernel_info *info, int world) {
  uint32_t arch = 0;
  lampar_arch_parse(info->arch, &arch);
  return info->world == world &&
         arch == lampar_kernels_arch(&v->pack, 1, v->capability, (uint32_t)world) &&
         (v->given->filter == NULL || fnmatch(v->given->filter, info->name, 0) == 0);
}

static bool is_epilogue_only(const lampar_kernel_info *info) {
  return info->world == 1;
}

static bool is_same_key(const lampar_kernel_info *a, const lampar_kernel_info *b) {
  return strcmp(a->arch, b->arch) == 0 && a->world == b->world && a->dtype == b->dtype &&
         a->hidden == b->hidden && a->rounding == b->rounding &&
         strcmp(a->epilogue, b->epilogue) == 0;
}

static uint64_t limit_of(const lampar_kernel_info *info) {
  return info->hidden > 0 ? info->max_rows : info->max_bytes;
}

/* The largest limit of the kernels that come before this one in the selection, among the persistent
 * ones or all. */
static uint64_t limit_before(const lampar_pack *pack, const lampar_kernel_info *info,
                             bool persistent_only) {
  uint64_t limit = 0;
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    lampar_kernel_info other = LAMPAR_KERNEL_INFO_INIT;
    if (lampar_pack_info(pack, i, &other) == LAMPAR_OK && is_same_key(&other, info) &&
        (other.persistent || !persistent_only) && limit_of(&other) < limit_of(info) &&
        limit_of(&other) > limit)
      limit = limit_of(&other);
  }
  return limit;
}

/* Whether a single-pass kernel of the same algorithm covers all that this persistent one takes. */
static bool is_covered(const lampar_pack *pack, const lampar_kernel_info *info) {
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    lampar_kernel_info other = LAMPAR_KERNEL_INFO_INIT;
    if (info->persistent && lampar_pack_info(pack, i, &other) == LAMPAR_OK && !other.persistent &&
        is_same_key(&other, info) && strcmp(other.algorithm, info->algorithm) == 0 &&
        limit_of(&other) >= limit_of(info))
      return true;
  }
  return false;
}

/* Shapes from the smallest to the largest that this very kernel is chosen for, one with a tail.
 * Fails when a shape of its range goes to NCCL. */
static lampar_status find_shapes(const verification *v, const lampar_kernel_info *info,
                                 shape shapes[SIZES_MAX], size_t *count) {
  static const uint64_t epilogue_only[SIZES_MAX] = {1, 5, 16, EPILOGUE_ONLY_ROWS};
  for (*count = 0; is_epilogue_only(info) && *count < SIZES_MAX; ++*count)
    shapes[*count] = (shape){epilogue_only[*count], info->hidden};
  if (is_epilogue_only(info)) return LAMPAR_OK; /* a group of one rank has no other kernel */
  const size_t element = lampar_dtype_bytes(info->dtype);
  const size_t whole = info->alignment > 0 ? info->alignment : element; /* of a flat message */
  const size_t unit = info->hidden > 0 ? 1 : whole;
  const uint64_t low = limit_before(v->pack, info, is_covered(v->pack, info)) / unit + 1;
  const uint64_t high = limit_of(info) / unit;
  const uint64_t middle = low + (high - low) / 2;
  const uint64_t sizes[SIZES_MAX] = {low, high, middle, middle > low + 3 ? middle - 3 : low};
  for (size_t i = 0; i < SIZES_MAX; ++i) {
    const shape s = info->hidden > 0 ? (shape){sizes[i], info->hidden}
                                     : (shape){1, sizes[i] * (whole / element)};
    lampar_call call = LAMPAR_CALL_INIT;
    lampar_answer answer = LAMPAR_ANSWER_INIT;
    call.dtype = info->dtype;
    call.rows = s.rows;
    call.hidden = s.hidden;
    call.epilogue = info->epilogue;
    call.rounding = info->rounding;
    LAMPAR_TRY(lampar_query(lampar_ranks_at(v->ranks, 0)->group, &call, &answer));
    if (answer.path != LAMPAR_PATH_KERNEL)
      return lampar_fail(LAMPAR_ERROR_NO_KERNEL, "%llu x %llu elements go to NCCL: %s",
                         (unsigned long long)s.rows, (unsigned long long)s.hidden, answer.message);
    if (strcmp(answer.kernel, info->name) == 0) shapes[(*count)++] = s;
  }
  return LAMPAR_OK;
}

static lampar_status verify_fused(verification *v, const lampar_variant *variant,
                                  const shape *shapes, size_t count, outcome *result) {
  uint64_t rows[SIZES_MAX];
  for (size_t i = 0; i < count; ++i) rows[i] = shapes[i].rows;
  return lampar_epilogue_verify(v->batches, variant, rows, count, v->given->seed, &result->calls,
                                &result->has_reference);
}

static lampar_status verify_kernel(verification *v, size_t index, outcome *result) {
  shape shapes[SIZES_MAX];
  size_t count;
  lampar_kernel_info kernel = LAMPAR_KERNEL_INFO_INIT;
  const lampar_kernel_info *const info = &kernel;
  *result = (outcome){.has_reference = true};
  LAMPAR_TRY(lampar_pack_info(v->pack, index, &kernel));
  LAMPAR_TRY(find_shapes(v, info, shapes, &count));
  if (count == 0) return LAMPAR_OK;
  if (info->epilogue[0] != '\0')
    return verify_fused(v, &v->pack->kernels[index].variant, shapes, count, result);

  lampar_check_call list[CALLS] = {0};
  for (size_t i = 0; i < CALLS; ++i) {
    const shape s = shapes[i % count];
    list[i] = (lampar_check_call){
        .dtype = info->dtype,
        .rows = s.rows,
        .hidden = s.hidden,
        .first = (i * 7919 + v->given->seed) % MARGIN_ELEMENTS,
        /* Half of the calls is aligned, as most of a server's are. */
        .input_shift = info->alignment > 0 ? 0 : i / 2 % 2 * (uint32_t)i,
        .output_shift = info->alignment > 0 ? 0 : i / 2 % 2 * (uint32_t)(i + 1),
        .in_place = i % 5 == 4,
    };
  }
  const lampar_batch_data data = {.plain = {&v->samples[0], &v->samples[1], &v->samples[2]}};
  LAMPAR_TRY(lampar_batches_run(v->batches, &data, list, CALLS, NULL, NULL));
  result->calls = CALLS;
  return LAMPAR_OK;
}

/* A kernel in all schedules. A failure says how to see it again. */
static lampar_status verify_schedules(verification *v, size_t index, const lampar_kernel_info *info,
                                      outcome *result) {
  if (!v->given->is_emulated) return verify_kernel(v, index, result);
  size_t all = 0;
  for (unsigned k = 0; k < v->given->schedules; ++k) {
    LAMPAR_TRY(lampar_ranks_set_schedule(v->ranks, v->given->seed + k));
    const lampar_status status = verify_kernel(v, index, result);
    if (status != LAMPAR_OK) {
      char message[512];
      snprintf(message, sizeof message, "%s", lampar_last_error());
      return lampar_fail(status,
                         "%s\n  again: lampar verify %s --device emu --world %d --filter '%s' "
                         "--seed %llu --schedules %u",
                         message, v->given->pack, info->world, info->name,
                         (unsigned long long)v->given->seed, k + 1);
    }
    all += result->calls;
  }
  result->calls = all;
  return LAMPAR_OK;
}

/* `names`: a glob of the kernels that the group has; NULL: all. */
static lampar_status open_group(verification *v, int world, const char *names) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.kernels = names;
  LAMPAR_TRY(lampar_ranks_set_world(v->ranks, world));
  return lampar_ranks_open_group(v->ranks, &v->pack, 1, &config);
}

/* Prints the kernel's line. A group whose kernel failed is over; the next kernel gets a new one. */
static lampar_status report_kernel(verification *v, size_t index, const lampar_kernel_info *info,
                                   const char *names) {
  outcome result;
  const lampar_status status = verify_schedules(v, index, info, &result);
  if (status == LAMPAR_OK && result.calls > 0) {
    ++v->right;
    printf("%-48s %6zu calls  ok%s\n", info->name, result.calls,
           result.has_reference ? ""
                                : ", the same on all ranks; there is no reference for a stage");
  } else if (status == LAMPAR_OK) {
    ++v->not_run;
    printf("%-48s      0 calls  NOT RUN: no size chooses it\n", info->name);
  } else {
    ++v->wrong;
    printf("%-48s         FAILED  %s\n", info->name, lampar_last_error());
    lampar_ranks_close_group(v->ranks);
    LAMPAR_TRY(open_group(v, info->world, names));
  }
  fflush(stdout);
  return LAMPAR_OK;
}

/* The kernels that a single-pass one covers, or all others. The former are reached without the
 * single-pass ones, whose names do not end with the arch. */
static lampar_status verify_kernels(verification *v, int world, bool covered) {
  char persistent[16];
  bool is_open = false;
  for (size_t i = 0; i < lampar_pack_count(v->pack); ++i) {
    lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
    LAMPAR_TRY(lampar_pack_info(v->pack, i, &info));
    if (!is_wanted(v, &info, world) || is_covered(v->pack, &info) != covered) continue;
    snprintf(persistent, sizeof persistent, "*_%s", info.arch);
    const char *names = covered ? persistent : "*";
    if (!is_open) LAMPAR_TRY(open_group(v, world, names));
    is_open = true;
    LAMPAR_TRY(report_kernel(v, i, &info, names));
  }
  return lampar_ranks_close_group(v->ranks);
}

static lampar_status make_samples(verification *v, int world) {
  for (size_t i = 0; i < lampar_pack_count(v->pack); ++i) {
    lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
    LAMPAR_TRY(lampar_pack_info(v->pack, i, &info));
    if (!is_wanted(v, &info, world) || info.epilogue[0] != '\0') continue;
    lampar_samples *s = &v->samples[info.dtype];
    const size_t count = info.max_bytes / lampar_dtype_bytes(info.dtype) + MARGIN_ELEMENTS;
    if (s->count >= count) continue;
    lampar_samples_destroy(s);
    LAMPAR_TRY(
        lampar_samples_create(info.dtype, world, count, lampar_sample_finite, &v->given->seed, s));
  }
  for (int d = 0; d < LAMPAR_BATCH_DTYPES; ++d)
    if (v->samples[d].count > 0) LAMPAR_TRY(lampar_samples_check_bound(&v->samples[d]));
  return LAMPAR_OK;
}

static lampar_status verify_world(verification *v, int world) {
  lampar_status status = make_samples(v, world);
  if (status == LAMPAR_OK) status = verify_kernels(v, world, false);
  if (status == LAMPAR_OK) status = verify_kernels(v, world, true);
  lampar_ranks_close_group(v->ranks);
  for (int d = 0; d < LAMPAR_BATCH_DTYPES; ++d) lampar_samples_destroy(&v->samples[d]);
  return status;
}

static size_t fused_bytes(const lampar_variant *variant) {
  const lampar_check_call call = {
      .rows = variant->world == 1 ? EPILOGUE_ONLY_ROWS : variant->max_rows, .gap = 8};
  return lampar_layout_bytes(variant, &call);
}

/* Buffers that hold the largest call, input and output, with guards. */
static lampar_status open_device(verification *v) {
  int most = v->given->world;
  size_t bytes = 0;
  for (size_t i = 0; i < lampar_pack_count(v->pack); ++i) {
    lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
    LAMPAR_TRY(lampar_pack_info(v->pack, i, &info));
    if (v->given->world == 0 && info.world > most) most = info.world;
    const size_t call = info.epilogue[0] != '\0' ? fused_bytes(&v->pack->kernels[i].variant)
                                                 : 2 * (size_t)info.max_bytes;
    if (call > bytes) bytes = call;
  }
  if (most == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: there is no kernel in it", v->given->pack);
  LAMPAR_TRY(lampar_ranks_create(0, most, 0, &v->ranks));
  LAMPAR_TRY(lampar_ranks_capability(v->ranks, &v->capability));
  return lampar_batches_create(v->ranks, bytes + (1 << 20), &v->batches);
}

/* A device for each rank, as on a server. */
static lampar_status choose_device(const verification *v) {
  char count[16];
  snprintf(count, sizeof count, "%d", LAMPAR_WORLD_MAX);
  if (v->given->is_emulated &&
      (setenv("LAMPAR_DEVICE", "emu", 1) != 0 || setenv("LAMPAR_EMU_DEVICES", count, 0) != 0))
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "setenv");
  return LAMPAR_OK;
}

static lampar_status build_pack(lampar_rank *rank, void *user) {
  (void)rank; /* its context is current: the pack is for its device */
  verification *const v = user;
  lampar_jit_options request = LAMPAR_JIT_OPTIONS_INIT;
  request.world = v->given->world;
  return lampar_jit_build(v->given->pack, NULL, &request, &v->pack);
}

/* Report spec errors before touching a device. */
static lampar_status check_spec(const char *path) {
  const char *const templates = lampar_variable_text(LAMPAR_VARIABLE_TEMPLATES);
  lampar_spec spec = {0};
  lampar_plan plan = {0};
  lampar_status status = lampar_spec_read(path, &spec, NULL);
  if (status == LAMPAR_OK) status = lampar_plan_make(&spec, templates, &plan, NULL);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
  return status;
}

/* A spec becomes a pack as at the start of a server. */
static lampar_status open_pack(verification *v) {
  const size_t length = strlen(v->given->pack);
  if (length < 4 || strcmp(v->given->pack + length - 4, ".lua") != 0)
    return lampar_pack_open(v->given->pack, &v->pack);
  LAMPAR_TRY(check_spec(v->given->pack));
  lampar_ranks *ranks = NULL;
  lampar_status status = lampar_ranks_create(0, 1, 0, &ranks);
  if (status == LAMPAR_OK) status = lampar_ranks_set_world(ranks, 1);
  if (status == LAMPAR_OK) status = lampar_ranks_run(ranks, build_pack, v);
  lampar_ranks_destroy(ranks);
  return status;
}

static lampar_status verify(verification *v) {
  LAMPAR_TRY(choose_device(v));
  LAMPAR_TRY(open_pack(v));
  LAMPAR_TRY(open_device(v));
  for (int world = 1; world <= LAMPAR_WORLD_MAX; ++world) {
    bool any = false;
    for (size_t i = 0; i < lampar_pack_count(v->pack) && !any; ++i) {
      lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
      LAMPAR_TRY(lampar_pack_info(v->pack, i, &info));
      any = is_wanted(v, &info, world) && (v->given->world == 0 || v->given->world == world);
    }
    if (any) LAMPAR_TRY(verify_world(v, world));
  }
  const size_t seen = v->right + v->wrong + v->not_run;
  if (seen == 0)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "%s: no kernel is for this GPU (compute capability %u.%u), the world and the "
        "filter; `lampar inspect` lists its kernels",
        v->given->pack, v->capability / 10, v->capability % 10);
  printf("%zu kernels: %zu right, %zu wrong, %zu not run (seed %llu)\n", seen, v->right, v->wrong,
         v->not_run, (unsigned long long)v->given->seed);
  return LAMPAR_OK;
}

lampar_status lampar_verb_verify(int argc, char **argv, bool *passed) {
  arguments given = {.seed = 1, .schedules = 1};
  const struct argp argp = {
      options,
      parse,
      "PACK|SPEC.lua",
      "Runs the kernels of a pack with random data and compares every bit of their results with a "
      "reference computed on the host: the exact sum, which is checked against a float64 sum, and "
      "for fused kernels the result of their stages. Given a spec, it runs the kernels that a "
      "server would compile at start-up. The ranks are threads; several may share a GPU.",
      NULL,
      NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  verification v = {.given = &given};
  const lampar_status status = verify(&v);
  *passed = v.wrong == 0 && v.not_run == 0;
  lampar_batches_destroy(v.batches);
  lampar_ranks_destroy(v.ranks);
  lampar_pack_close(v.pack);
  return status;
}
