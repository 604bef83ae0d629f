#include "epilogue_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "epilogue_walk.h"
#include "error.h"
#include "reference.h"
#include "stage_reference.h"

/* Numbers of a format in ascending order, both zeros in one place. */
static int64_t position(uint32_t dtype, uint32_t bits) {
  const uint32_t sign = dtype == LAMPAR_F32 ? 0x80000000u : 0x8000u;
  return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

/* Half of what separates a number from its neighbours, or a little more. */
static double rounding_of(uint32_t dtype, double value) {
  const double relative = dtype == LAMPAR_BF16 ? 0x1p-8 : dtype == LAMPAR_F16 ? 0x1p-11 : 0x1p-24;
  const double least = dtype == LAMPAR_F16 ? 0x1p-25 : 0x1p-127;
  return fmax(fabs(value) * relative, least);
}

static bool is_right(const lampar_walk *walk, size_t i, uint32_t got) {
  const uint32_t expected = lampar_encode(walk->dtype, walk->x[i]);
  const double number = lampar_decode(walk->dtype, got);
  if (isnan(walk->x[i]) || isnan(number)) return isnan(walk->x[i]) && isnan(number);
  if (walk->is_exact) return got == expected;
  const int64_t apart = position(walk->dtype, got) - position(walk->dtype, expected);
  return (apart >= -1 && apart <= 1) ||
         fabs(number - walk->x[i]) <= walk->slack[i] + 2 * rounding_of(walk->dtype, walk->x[i]);
}

lampar_status lampar_walk_store(lampar_walk *walk, const char *operand,
                                const lampar_operand_memory *memory) {
  const size_t first = (size_t)(walk->row * memory->stride);
  for (size_t i = 0; i < walk->hidden; ++i) {
    const uint32_t got = lampar_element_load(walk->dtype, memory->got, first + i);
    const float number = lampar_decode(walk->dtype, got);
    if (!is_right(walk, i, got)) return lampar_walk_wrong(walk, operand, i, number, walk->x[i]);
    lampar_element_store(walk->dtype, memory->expected, first + i, got);
    /* With fp32 kept through, what is stored is not what goes on. */
    if (walk->call->variant->rounding == LAMPAR_ROUNDING_UNFUSED) walk->x[i] = number;
  }
  if (walk->call->variant->rounding == LAMPAR_ROUNDING_UNFUSED) walk->is_exact = true;
  return LAMPAR_OK;
}

/* What a stage's result becomes before the next one has it. */
static void end_stage(lampar_walk *walk) {
  if (walk->call->variant->rounding != LAMPAR_ROUNDING_UNFUSED) return;
  for (size_t i = 0; i < walk->hidden; ++i) {
    if (walk->is_exact)
      walk->x[i] = lampar_decode(walk->dtype, lampar_encode(walk->dtype, walk->x[i]));
    else walk->slack[i] += 2 * rounding_of(walk->dtype, walk->x[i]);
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

static lampar_status add_residual(lampar_walk *walk) {
  add(walk, "residual", true);
  const lampar_operand_memory *out = lampar_walk_operand(walk, "residual_out", NULL);
  return out != NULL ? lampar_walk_store(walk, "residual_out", out) : LAMPAR_OK;
}

static const float *read_columns(const lampar_walk *walk, const char *name, float *numbers) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, name, &info);
  if (memory == NULL) return NULL;
  for (size_t i = 0; i < walk->hidden; ++i) numbers[i] = lampar_walk_number(info, memory, i);
  return numbers;
}

static void normalise(lampar_walk *walk, bool is_layernorm) {
  lampar_norm norm = {walk->norm, walk->slack};
  const float eps = lampar_walk_scalar(walk, "eps");
  const bool is_wide = walk->dtype == LAMPAR_F32;
  if (is_layernorm) {
    const float *weight = read_columns(walk, "layernorm_weight", walk->weight);
    const float *bias = read_columns(walk, "layernorm_bias", walk->bias);
    lampar_reference_layernorm(walk->x, walk->hidden, weight, bias, eps, is_wide, &norm);
  } else {
    char value[32];
    const float offset = strtof(lampar_walk_option(walk, "offset", "0", value), NULL);
    const float *weight = read_columns(walk, "weight", walk->weight);
    lampar_reference_rmsnorm(walk->x, walk->hidden, weight, offset, eps, is_wide, &norm);
  }
  walk->is_exact = false;
  for (size_t i = 0; i < walk->hidden; ++i) {
    walk->x[i] = (float)walk->norm[i];
    if (walk->call->variant->rounding == LAMPAR_ROUNDING_FP32)
      walk->slack[i] += fabs(walk->norm[i]) * 0x1p-20; /* the sum of squares, and three roundings */
  }
}

static bool apply_own(lampar_walk *walk) {
  const lampar_stage_map *own = walk->call->own_stages;
  while (own != NULL && own->name != NULL &&
         (strncmp(own->name, walk->stage, (size_t)walk->stage_length) != 0 ||
          own->name[walk->stage_length] != '\0'))
    ++own;
  if (own == NULL || own->name == NULL || !walk->is_exact) return false;
  for (size_t i = 0; i < walk->hidden; ++i) walk->x[i] = own->map(walk->x[i]);
  end_stage(walk);
  return true;
}

static bool is_stage(const lampar_walk *walk, const char *name) {
  const size_t length = strlen(name);
  return (size_t)walk->stage_length >= length && strncmp(walk->stage, name, length) == 0 &&
         ((size_t)walk->stage_length == length || walk->stage[length] == '.');
}

/* Behind a norm, the next stage that stores takes over what was stored. `is_last` without one: the
 * call's output does. */
static lampar_status walk_stage(lampar_walk *walk, bool is_next_store) {
  if (is_stage(walk, "bias")) {
    add(walk, "bias", false);
  } else if (is_stage(walk, "residual")) {
    return add_residual(walk);
  } else if (is_stage(walk, "rmsnorm") || is_stage(walk, "layernorm")) {
    normalise(walk, is_stage(walk, "layernorm"));
    if (!is_next_store) end_stage(walk);
  } else if (is_stage(walk, "norm_out")) {
    return lampar_walk_store(walk, "norm", lampar_walk_operand(walk, "norm", NULL));
  } else if (is_stage(walk, "fp8_static")) {
    return lampar_walk_fp8_static(walk);
  } else if (is_stage(walk, "fp8_token")) {
    return lampar_walk_fp8_token(walk);
  } else if (is_stage(walk, "fp8_group")) {
    return lampar_walk_fp8_group(walk);
  } else if (is_stage(walk, "nvfp4")) {
    return lampar_walk_nvfp4(walk);
  } else if (is_stage(walk, "int8_token")) {
    return lampar_walk_int8_token(walk);
  } else if (!apply_own(walk)) {
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: there is no reference for the stage %.*s here",
                       walk->call->variant->epilogue, walk->stage_length, walk->stage);
  }
  return LAMPAR_OK;
}

bool lampar_epilogue_quantizes(const lampar_variant *variant) {
  for (uint32_t i = 0; i < variant->operand_count; ++i)
    if (strcmp(variant->operands[i].name, "quantized") == 0) return true;
  return false;
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

/* The end of a stage's text: stages are joined by '+'. */
static size_t stage_length(const char *text) {
  return strcspn(text, "+");
}

static lampar_status walk_row(lampar_walk *walk) {
  const char *text = walk->call->variant->epilogue;
  sum_ranks(walk);
  while (*text != '\0') {
    walk->stage = text;
    walk->stage_length = (int)stage_length(text);
    text += walk->stage_length + (text[walk->stage_length] == '+');
    LAMPAR_TRY(walk_stage(walk, *text == '\0' || strncmp(text, "norm_out", 8) == 0));
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
