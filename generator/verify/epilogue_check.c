#include "verify/epilogue_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "verify/reference.h"
#include "verify/row_check.h"
#include "verify/stage_reference.h"

/* Numbers of a format in ascending order, both zeros in one place. */
static int64_t position(uint32_t dtype, uint32_t bits) {
  const uint32_t sign = dtype == LAMPAR_F32 ? 0x80000000u : 0x8000u;
  return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

/* The largest distance of a neighbour of the nearest number. */
static double neighbour_distance(uint32_t dtype, double value) {
  return 1.5 * lampar_reference_ulp(dtype, value);
}

/* If x is not exact, the next number up or down is right as well, and so is anything within the
 * tolerance. */
static bool is_right(const lampar_row_check *check, size_t i, uint32_t got) {
  const uint32_t expected = lampar_encode(check->dtype, check->x[i]);
  const double number = lampar_decode(check->dtype, got), x = check->x[i];
  if (isnan(x) || isnan(number)) return isnan(x) && isnan(number);
  if (check->is_exact) return got == expected;
  const int64_t apart = position(check->dtype, got) - position(check->dtype, expected);
  return (apart >= -1 && apart <= 1) ||
         (check->tolerance[i] > 0 &&
          fabs(number - x) <= check->tolerance[i] + neighbour_distance(check->dtype, x));
}

/* Whether the next stage continues with more bits than are stored. */
static bool keeps_fp32(const lampar_row_check *check) {
  return check->call->variant->rounding == LAMPAR_ROUNDING_FP32 && check->dtype != LAMPAR_F32;
}

lampar_status lampar_row_check_store(lampar_row_check *check, const char *operand,
                                     const lampar_operand_memory *memory) {
  const size_t first = (size_t)(check->row * memory->stride);
  for (size_t i = 0; i < check->hidden; ++i) {
    const uint32_t got = lampar_element_load(check->dtype, memory->got, first + i);
    const float number = lampar_decode(check->dtype, got);
    if (!is_right(check, i, got))
      return lampar_row_check_wrong(check, operand, i, number, check->x[i]);
    lampar_element_store(check->dtype, memory->expected, first + i, got);
    if (!keeps_fp32(check)) check->x[i] = number;
  }
  if (!keeps_fp32(check)) check->is_exact = true;
  return LAMPAR_OK;
}

/* Rounds a stage's result as it is passed to the next one. */
static void end_stage(lampar_row_check *check) {
  if (keeps_fp32(check)) return;
  for (size_t i = 0; i < check->hidden; ++i) {
    if (check->is_exact)
      check->x[i] = lampar_decode(check->dtype, lampar_encode(check->dtype, check->x[i]));
    else check->tolerance[i] += neighbour_distance(check->dtype, check->x[i]);
  }
}

static void add(lampar_row_check *check, const char *name, bool per_row) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, name, &info);
  const size_t first = per_row ? (size_t)(check->row * memory->stride) : 0;
  for (size_t i = 0; i < check->hidden; ++i)
    check->x[i] += lampar_row_check_number(info, memory, first + i);
  end_stage(check);
}

static const float *read_columns(const lampar_row_check *check, const char *name, float *numbers) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, name, &info);
  if (memory == NULL) return NULL;
  for (size_t i = 0; i < check->hidden; ++i) numbers[i] = lampar_row_check_number(info, memory, i);
  return numbers;
}

/* Continues with the norm. Storing it next makes x exact again; else the tolerance grows. */
static lampar_status end_norm(lampar_row_check *check) {
  check->is_exact = false;
  for (size_t i = 0; i < check->hidden; ++i) {
    check->x[i] = (float)check->norm[i];
    /* The sum of squares, and three roundings. */
    if (keeps_fp32(check)) check->tolerance[i] += fabs(check->norm[i]) * 0x1p-20;
  }
  if (!check->is_stored_next) end_stage(check);
  return LAMPAR_OK;
}

static lampar_status check_rmsnorm(lampar_row_check *check) {
  char value[32];
  lampar_norm norm = {check->norm, check->tolerance};
  const float offset = strtof(lampar_row_check_option(check, "offset", "0", value), NULL);
  lampar_reference_rmsnorm(check->x, check->hidden, read_columns(check, "weight", check->weight),
                           offset, lampar_row_check_scalar(check, "eps"),
                           check->dtype == LAMPAR_F32, &norm);
  return end_norm(check);
}

static lampar_status check_layernorm(lampar_row_check *check) {
  lampar_norm norm = {check->norm, check->tolerance};
  lampar_reference_layernorm(
      check->x, check->hidden, read_columns(check, "layernorm_weight", check->weight),
      read_columns(check, "layernorm_bias", check->bias), lampar_row_check_scalar(check, "eps"),
      check->dtype == LAMPAR_F32, &norm);
  return end_norm(check);
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

/* After a norm that is not stored, a map could amplify the tolerance without limit. */
static bool apply_own(lampar_row_check *check) {
  const lampar_stage_map *own =
      find_own(check->call->own_stages, check->stage, check->stage_length);
  if (own == NULL || !check->is_exact) return false;
  for (size_t i = 0; i < check->hidden; ++i) check->x[i] = own->map(check->x[i]);
  end_stage(check);
  return true;
}

static lampar_status check_bias(lampar_row_check *check) {
  add(check, "bias", false);
  return LAMPAR_OK;
}

static lampar_status check_residual(lampar_row_check *check) {
  add(check, "residual", true);
  const lampar_operand_memory *out = lampar_row_check_operand(check, "residual_out", NULL);
  return out != NULL ? lampar_row_check_store(check, "residual_out", out) : LAMPAR_OK;
}

static lampar_status check_norm_out(lampar_row_check *check) {
  return lampar_row_check_store(check, "norm", lampar_row_check_operand(check, "norm", NULL));
}

static const struct {
  const char *name;
  lampar_status (*check)(lampar_row_check *check);
} stages[] = {
    {"bias", check_bias},
    {"residual", check_residual},
    {"rmsnorm", check_rmsnorm},
    {"layernorm", check_layernorm},
    {"norm_out", check_norm_out},
    {"fp8_static", lampar_row_check_fp8_static},
    {"fp8_token", lampar_row_check_fp8_token},
    {"fp8_group", lampar_row_check_fp8_group},
    {"nvfp4", lampar_row_check_nvfp4},
    {"int8_token", lampar_row_check_int8_token},
};
enum { STAGES = sizeof stages / sizeof stages[0] };

/* Index of a known stage; STAGES: unknown. */
static size_t find_stage(const char *text, int length) {
  size_t i = 0;
  while (i < STAGES && !is_name(stages[i].name, text, length)) ++i;
  return i;
}

static lampar_status check_stage(lampar_row_check *check) {
  const size_t stage = find_stage(check->stage, check->stage_length);
  if (stage < STAGES) return stages[stage].check(check);
  if (apply_own(check)) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: there is no reference for the stage %.*s here",
                     check->call->variant->epilogue, check->stage_length, check->stage);
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

static void sum_ranks(lampar_row_check *check) {
  const lampar_variant *variant = check->call->variant;
  const size_t first = (size_t)check->row * check->hidden;
  for (size_t i = 0; i < check->hidden; ++i) {
    float sum = 0;
    for (uint32_t rank = 0; rank < variant->world; ++rank) {
      const void *input = check->call->input[rank];
      const float number =
          lampar_decode(check->dtype, lampar_element_load(check->dtype, input, first + i));
      sum = rank == 0 ? number : sum + number;
    }
    check->x[i] = sum;
    check->tolerance[i] = 0;
  }
  check->is_exact = true;
  end_stage(check);
}

static lampar_status check_row(lampar_row_check *check) {
  const char *text = check->call->variant->epilogue;
  sum_ranks(check);
  while (*text != '\0') {
    check->stage = text;
    check->stage_length = stage_length(text);
    text += check->stage_length + (text[check->stage_length] == '+');
    check->is_stored_next = *text == '\0' || is_name("norm_out", text, stage_length(text));
    LAMPAR_TRY(check_stage(check));
  }
  if (lampar_epilogue_quantizes(check->call->variant)) return LAMPAR_OK;
  return lampar_row_check_store(check, "output", &check->call->output);
}

lampar_status lampar_epilogue_check(const lampar_finished_call *call) {
  const size_t hidden = call->variant->hidden;
  lampar_row_check check = {
      .call = call,
      .dtype = call->variant->dtype,
      .hidden = hidden,
      .x = malloc(hidden * sizeof *check.x),
      .tolerance = malloc(hidden * sizeof *check.tolerance),
      .norm = malloc(hidden * sizeof *check.norm),
      .weight = malloc(hidden * sizeof *check.weight),
      .bias = malloc(hidden * sizeof *check.bias),
      .codes = malloc(hidden * sizeof *check.codes),
  };
  lampar_status status = LAMPAR_OK;
  if (check.x == NULL || check.tolerance == NULL || check.norm == NULL || check.weight == NULL ||
      check.bias == NULL || check.codes == NULL)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a row of %zu elements", hidden);
  for (; check.row < call->rows && status == LAMPAR_OK; ++check.row) status = check_row(&check);
  free(check.x);
  free(check.tolerance);
  free(check.norm);
  free(check.weight);
  free(check.bias);
  free(check.codes);
  return status;
}
