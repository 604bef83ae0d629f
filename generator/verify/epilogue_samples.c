#include "verify/epilogue_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/epilogue_layout.h"
#include "verify/reference.h"

/* Input of sample_row. */
typedef struct plan {
  uint64_t seed;
  uint32_t hidden;
} plan;

static uint32_t sample_row(uint32_t dtype, int rank, size_t index, const void *user) {
  const plan *p = user;
  const size_t row = index / p->hidden, column = index % p->hidden;
  const size_t chosen = (row * 7919 + 3) % p->hidden; /* the column of a row's special element */
  const uint32_t usual = lampar_sample_finite(dtype, rank, index, &p->seed);
  switch (row % LAMPAR_SAMPLE_ROW_KINDS) {
  case 0: return 0;
  case 1: /* the square of the huge element is still an fp32 number */
    if (column != chosen) return usual;
    return rank == 0 ? lampar_encode(dtype, dtype == LAMPAR_F16 ? 6e4f : 1e18f) : 0;
  case 2: /* sign and lowest mantissa bits */
    return dtype == LAMPAR_F32 ? usual & 0x8000ffff : usual & 0x803f;
  case 3: return column == chosen && rank == 1 ? lampar_encode(dtype, NAN) : usual;
  case 4: return column == chosen && rank == 1 ? lampar_encode(dtype, -INFINITY) : usual;
  case 5: return lampar_encode(dtype, 1.375f);
  case 6: return lampar_encode(dtype, -0.0f);
  default: return usual;
  }
}

/* An operand has the same contents in every epilogue. */
static uint64_t name_number(const char *name) {
  uint64_t number = 100;
  while (*name != '\0') number = number * 31 + (unsigned char)*name++;
  return number;
}

/* Around 1 for weights, so that norms stay what they are, and around 0 for the rest. */
static void fill(const lampar_operand_info *info, uint64_t count, uint64_t seed, void *array) {
  const bool is_weight = strstr(info->name, "weight") != NULL;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t random = lampar_sample_bits(LAMPAR_F32, 0, (size_t)i, &seed);
    const float unit = (float)(int32_t)random * 0x1p-31f;
    lampar_element_store(info->dtype, array, (size_t)i,
                         lampar_encode(info->dtype, is_weight ? 1 + unit / 2 : 4 * unit));
  }
}

static float scalar(const lampar_operand_info *info, int set) {
  static const float eps[] = {1e-6f, 1e-5f, 0x1p-20f, 1e-12f};
  static const float scale[] = {0.037f, 0, INFINITY, 1e-30f};
  static const float global[] = {384, 0, INFINITY, 1e-30f};
  if (info->granularity == LAMPAR_GRANULARITY_CALL) return eps[set];
  return strcmp(info->name, "global_scale") == 0 ? global[set] : scale[set];
}

static lampar_status make_operand(lampar_epilogue_samples *s, uint32_t i, uint64_t seed,
                                  int scalars) {
  const lampar_operand_info *info = &s->variant.operands[i];
  if (info->granularity == LAMPAR_GRANULARITY_CALL) s->value[i] = scalar(info, scalars);
  if (info->output || info->granularity == LAMPAR_GRANULARITY_CALL) return LAMPAR_OK;
  const uint64_t stride = lampar_operand_stride(&s->variant, info, s->rows);
  const uint64_t count = lampar_operand_extent(&s->variant, info, s->rows, stride);
  s->operand[i] = malloc(count * lampar_dtype_bytes(info->dtype));
  if (s->operand[i] == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the operand %s", info->name);
  if (info->granularity == LAMPAR_GRANULARITY_TENSOR)
    lampar_element_store(info->dtype, s->operand[i], 0,
                         lampar_encode(info->dtype, scalar(info, scalars)));
  else fill(info, count, seed + name_number(info->name), s->operand[i]);
  return LAMPAR_OK;
}

lampar_status lampar_epilogue_samples_create(const lampar_variant *variant, uint64_t rows,
                                             uint64_t seed, int scalars,
                                             lampar_epilogue_samples *samples) {
  const plan p = {seed, variant->hidden};
  *samples = (lampar_epilogue_samples){.variant = *variant, .rows = rows};
  lampar_status status =
      lampar_samples_create(variant->dtype, (int)variant->world, (size_t)(rows * variant->hidden),
                            sample_row, &p, &samples->inputs);
  for (uint32_t i = 0; i < variant->operand_count && status == LAMPAR_OK; ++i)
    status = make_operand(samples, i, seed, scalars);
  if (status != LAMPAR_OK) lampar_epilogue_samples_destroy(samples);
  return status;
}

void lampar_epilogue_samples_sum(lampar_epilogue_samples *samples) {
  void *const sum = samples->inputs.expected;
  samples->inputs.expected = samples->inputs.input[0];
  samples->inputs.input[0] = sum;
  samples->variant.world = 1;
}

void lampar_epilogue_samples_destroy(lampar_epilogue_samples *samples) {
  lampar_samples_destroy(&samples->inputs);
  for (int i = 0; i < LAMPAR_OPERANDS_MAX; ++i) free(samples->operand[i]);
  *samples = (lampar_epilogue_samples){0};
}
