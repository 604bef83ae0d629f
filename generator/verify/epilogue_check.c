#include "verify/epilogue_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "verify/epilogue_walk.h"
#include "verify/reference.h"
#include "verify/stage_reference.h"

/* Numbers of a format in ascending order, both zeros in one place. */
static int64_t position(uint32_t dtype, uint32_t bits) {
  const uint32_t sign = dtype == LAMPAR_F32 ? 0x80000000u : 0x8000u;
  return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

/* How far a neighbour of the nearest number may be. */
static double reach_of(uint32_t dtype, double value) {
  return 1.5 * lampar_reference_ulp(dtype, value);
}

/* In doubt the next number up or down is right as well, and so is what the doubt itself can do. */
static bool is_right(const lampar_walk *walk, size_t i, uint32_t got) {
  const uint32_t expected = lampar_encode(walk->dtype, walk->x[i]);
  const double number = lampar_decode(walk->dtype, got), x = walk->x[i];
  if (isnan(x) || isnan(number)) return isnan(x) && isnan(number);
  if (walk->is_exact) return got == expected;
  const int64_t apart = position(walk->dtype, got) - position(walk->dtype, expected);
  return (apart >= -1 && apart <= 1) ||
         (walk->slack[i] > 0 && fabs(number - x) <= walk->slack[i] + reach_of(walk->dtype, x));
}

/* Whether what goes on is more than what is stored. */
static bool keeps_fp32(const lampar_walk *walk) {
  return walk->call->variant->rounding == LAMPAR_ROUNDING_FP32 && walk->dtype != LAMPAR_F32;
}

lampar_status lampar_walk_store(lampar_walk *walk, const char *operand,
                                const lampar_operand_memory *memory) {
  const size_t first = (size_t)(walk->row * memory->stride);
  for (size_t i = 0; i < walk->hidden; ++i) {
    const uint32_t got = lampar_element_load(walk->dtype, memory->got, first + i);
    const float number = lampar_decode(walk->dtype, got);
    if (!is_right(walk, i, got)) return lampar_walk_wrong(walk, operand, i, number, walk->x[i]);
    lampar_element_store(walk->dtype, memory->expected, first + i, got);
    if (!keeps_fp32(walk)) walk->x[i] = number;
  }
  if (!keeps_fp32(walk)) walk->is_exact = true;
  return LAMPAR_OK;
}

/* What a stage's result becomes before the next one has it. */
static void end_stage(lampar_walk *walk) {
  if (keeps_fp32(walk)) return;
  for (size_t i = 0; i < walk->hidden; ++i) {
    if (walk->is_exact)
      walk->x[i] = lampar_decode(walk->dtype, lampar_encode(walk->dtype, walk->x[i]));
    else walk->slack[i] += reach_of(walk->dtype, walk->x[i]);
  }
}

static void add(lampar_walk *walk, const char *name, bool per_row) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, name, &info);
  const size_t first = per_row ? (size_t)(walk->row * memory->stride) : 0;
  for (size_t i = 0; i < walk->hidden; ++i)
    walk->x[i] += lampar_walk_number(info, memory, first + i);
  end_stage(walk);
}

static const float *read_columns(const lampar_walk *walk, const char *name, float *numbers) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, name, &info);
  if (memory == NULL) return NULL;
  for (size_t i = 0; i < walk->hidden; ++i) numbers[i] = lampar_walk_number(info, memory, i);
  return numbers;
}

/* Takes over the norm. It is stored next, which makes x exact again, or the doubt goes on. */
static lampar_status end_norm(lampar_walk *walk) {
  walk->is_exact = false;
  for (size_t i = 0; i < walk->hidden; ++i) {
    walk->x[i] = (float)walk->norm[i];
    /* The sum of squares, and three roundings. */
    if (keeps_fp32(walk)) walk->slack[i] += fabs(walk->norm[i]) * 0x1p-20;
  }
  if (!walk->is_stored_next) end_stage(walk);
  return LAMPAR_OK;
}

static lampar_status walk_rmsnorm(lampar_walk *walk) {
  char value[32];
  lampar_norm norm = {walk->norm, walk->slack};
  const float offset = strtof(lampar_walk_option(walk, "offset", "0", value), NULL);
  lampar_reference_rmsnorm(walk->x, walk->hidden, read_columns(walk, "weight", walk->weight),
                           offset, lampar_walk_scalar(walk, "eps"), walk->dtype == LAMPAR_F32,
                           &norm);
  return end_norm(walk);
}

static lampar_status walk_layernorm(lampar_walk *walk) {
  lampar_norm norm = {walk->norm, walk->slack};
  lampar_reference_layernorm(walk->x, walk->hidden,
                             read_columns(walk, "layernorm_weight", walk->weight),
                             read_columns(walk, "layernorm_bias", walk->bias),
                             lampar_walk_scalar(walk, "eps"), walk->dtype == LAMPAR_F32, &norm);
  return end_norm(walk);
}

/* "rmsnorm.offset_1" is a rmsnorm. */
static bool is_name(const char *name, const char *text, int length) {
  const size_t own = strlen(name);
  return (size_t)length >= own && strncmp(text, name, own) == 0 &&
         ((size_t)length == own || text[own] == '.');
}

static const lampar_stage_map *find_own(const lampar_stage_map *own, const char *text, int length) {
  while (own != NULL && own->name != NULL && !is_name(own->name, text, length)) ++own;
  return own != NULL && own->name != NULL ? own : NULL;
}

/* Stages are joined by '+'. */
static int stage_length(const char *text) {
  return (int)strcspn(text, "+");
}

/* Behind a norm that is not stored, a map could take its input's doubt anywhere. */
static bool apply_own(lampar_walk *walk) {
  const lampar_stage_map *own = find_own(walk->call->own_stages, walk->stage, walk->stage_length);
  if (own == NULL || !walk->is_exact) return false;
  for (size_t i = 0; i < walk->hidden; ++i) walk->x[i] = own->map(walk->x[i]);
  end_stage(walk);
  return true;
}

static lampar_status walk_bias(lampar_walk *walk) {
  add(walk, "bias", false);
  return LAMPAR_OK;
}

static lampar_status walk_residual(lampar_walk *walk) {
  add(walk, "residual", true);
  const lampar_operand_memory *out = lampar_walk_operand(walk, "residual_out", NULL);
  return out != NULL ? lampar_walk_store(walk, "residual_out", out) : LAMPAR_OK;
}

static lampar_status walk_norm_out(lampar_walk *walk) {
  return lampar_walk_store(walk, "norm", lampar_walk_operand(walk, "norm", NULL));
}

static const struct {
  const char *name;
  lampar_status (*walk)(lampar_walk *walk);
} stages[] = {
    {"bias", walk_bias},
    {"residual", walk_residual},
    {"rmsnorm", walk_rmsnorm},
    {"layernorm", walk_layernorm},
    {"norm_out", walk_norm_out},
    {"fp8_static", lampar_walk_fp8_static},
    {"fp8_token", lampar_walk_fp8_token},
    {"fp8_group", lampar_walk_fp8_group},
    {"nvfp4", lampar_walk_nvfp4},
    {"int8_token", lampar_walk_int8_token},
};
enum { STAGES = sizeof stages / sizeof stages[0] };

/* Index of a known stage; STAGES: it is not known. */
static size_t find_stage(const char *text, int length) {
  size_t i = 0;
  while (i < STAGES && !is_name(stages[i].name, text, length)) ++i;
  return i;
}

static lampar_status walk_stage(lampar_walk *walk) {
  const size_t stage = find_stage(walk->stage, walk->stage_length);
  if (stage < STAGES) return stages[stage].walk(walk);
  if (apply_own(walk)) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: there is no reference for the stage %.*s here",
                     walk->call->variant->epilogue, walk->stage_length, walk->stage);
}

bool lampar_epilogue_has_reference(const lampar_variant *variant,
                                   const lampar_stage_map *own_stages) {
  for (const char *text = variant->epilogue; *text != '\0';) {
    const int length = stage_length(text);
    if (find_stage(text, length) == STAGES && find_own(own_stages, text, length) == NULL)
      return false;
    text += length + (text[length] == '+');
  }
  return true;
}

bool lampar_epilogue_quantizes(const lampar_variant *variant) {
  return lampar_variant_operand(variant, "quantized") >= 0;
}

static void sum_ranks(lampar_walk *walk) {
  const lampar_variant *variant = walk->call->variant;
  const size_t first = (size_t)walk->row * walk->hidden;
  for (size_t i = 0; i < walk->hidden; ++i) {
    float sum = 0;
    for (uint32_t rank = 0; rank < variant->world; ++rank) {
      const void *input = walk->call->input[rank];
      const float number =
          lampar_decode(walk->dtype, lampar_element_load(walk->dtype, input, first + i));
      sum = rank == 0 ? number : sum + number;
    }
    walk->x[i] = sum;
    walk->slack[i] = 0;
  }
  walk->is_exact = true;
  end_stage(walk);
}

static lampar_status walk_row(lampar_walk *walk) {
  const char *text = walk->call->variant->epilogue;
  sum_ranks(walk);
  while (*text != '\0') {
    walk->stage = text;
    walk->stage_length = stage_length(text);
    text += walk->stage_length + (text[walk->stage_length] == '+');
    walk->is_stored_next = *text == '\0' || is_name("norm_out", text, stage_length(text));
    LAMPAR_TRY(walk_stage(walk));
  }
  if (lampar_epilogue_quantizes(walk->call->variant)) return LAMPAR_OK;
  return lampar_walk_store(walk, "output", &walk->call->output);
}

lampar_status lampar_epilogue_check(const lampar_finished_call *call) {
  const size_t hidden = call->variant->hidden;
  lampar_walk walk = {
      .call = call,
      .dtype = call->variant->dtype,
      .hidden = hidden,
      .x = malloc(hidden * sizeof *walk.x),
      .slack = malloc(hidden * sizeof *walk.slack),
      .norm = malloc(hidden * sizeof *walk.norm),
      .weight = malloc(hidden * sizeof *walk.weight),
      .bias = malloc(hidden * sizeof *walk.bias),
      .codes = malloc(hidden * sizeof *walk.codes),
  };
  lampar_status status = LAMPAR_OK;
  if (walk.x == NULL || walk.slack == NULL || walk.norm == NULL || walk.weight == NULL ||
      walk.bias == NULL || walk.codes == NULL)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a row of %zu elements", hidden);
  for (; walk.row < call->rows && status == LAMPAR_OK; ++walk.row) status = walk_row(&walk);
  free(walk.x);
  free(walk.slack);
  free(walk.norm);
  free(walk.weight);
  free(walk.bias);
  free(walk.codes);
  return status;
}
