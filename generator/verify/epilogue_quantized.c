/* The checks of quantising stages. Where x is known bit for bit, so are scales and codes. Behind a
 * norm that is not stored, the scale may be one step away, and the codes, made with the scale that
 * came back, one code. */
#include <math.h>

#include "base/error.h"
#include "verify/epilogue_layout.h"
#include "verify/epilogue_walk.h"
#include "verify/formats.h"
#include "verify/reference.h"
#include "verify/stage_reference.h"

/* Codes of a format with a sign in ascending order; int8 as it is. */
static int position(uint32_t dtype, uint8_t code) {
  const int sign = dtype == LAMPAR_F4E2M1X2 ? 0x8 : 0x80;
  if (dtype == LAMPAR_I8) return (int8_t)code;
  return code & sign ? -(code & (sign - 1)) : code;
}

static bool is_code_right(const lampar_walk *walk, uint32_t dtype, uint8_t got, uint8_t expected) {
  if (got == expected) return true;
  if (walk->is_exact ||
      (dtype == LAMPAR_F8E4M3 && ((got & 0x7f) == 0x7f || (expected & 0x7f) == 0x7f)))
    return false;
  const int apart = position(dtype, got) - position(dtype, expected);
  return apart >= -1 && apart <= 1;
}

/* Holds the row's codes from `first` on against walk->codes. */
static lampar_status store_codes(lampar_walk *walk, size_t first, size_t count) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, "quantized", &info);
  for (size_t i = first; i < first + count; ++i) {
    const bool is_half = info->dtype == LAMPAR_F4E2M1X2; /* two codes a byte */
    const size_t at = (size_t)lampar_operand_item(walk->call->variant, info, walk->row,
                                                  is_half ? i / 2 : i, memory->stride);
    const int shift = is_half ? (int)(i % 2) * 4 : 0;
    const uint8_t mask = (uint8_t)((is_half ? 0xf : 0xff) << shift);
    const uint8_t got = (uint8_t)(((uint8_t)memory->got[at] & mask) >> shift);
    if (!is_code_right(walk, info->dtype, got, walk->codes[i]))
      return lampar_walk_wrong(walk, "quantized", i, got, walk->codes[i]);
    memory->expected[at] = (char)(((uint8_t)memory->expected[at] & ~mask) | (got << shift));
  }
  return LAMPAR_OK;
}

/* Holds an fp32 scale against what it must be and gives the one that came back. */
static lampar_status store_scale(lampar_walk *walk, size_t at, float expected, float *scale) {
  const lampar_operand_memory *memory = lampar_walk_operand(walk, "scale", NULL);
  const uint32_t got = lampar_element_load(LAMPAR_F32, memory->got, at);
  *scale = lampar_decode(LAMPAR_F32, got);
  /* A peak behind a norm: a unit of the dtype, and what the row's elements may be apart. */
  double room = 0;
  if (!walk->is_exact)
    for (size_t i = 0; i < walk->hidden; ++i) room = fmax(room, walk->slack[i]);
  const bool is_right = walk->is_exact ? got == lampar_encode(LAMPAR_F32, expected)
                                       : fabs((double)*scale - expected) <= room;
  if (!is_right) return lampar_walk_wrong(walk, "scale", at, *scale, expected);
  lampar_element_store(LAMPAR_F32, memory->expected, at, got);
  return LAMPAR_OK;
}

/* Where the row's one scale is. */
static size_t row_scale(const lampar_walk *walk) {
  return (size_t)(walk->row * lampar_walk_operand(walk, "scale", NULL)->stride);
}

lampar_status lampar_walk_fp8_static(lampar_walk *walk) {
  lampar_reference_fp8(walk->x, walk->hidden, 1 / lampar_walk_scalar(walk, "scale"), walk->codes);
  return store_codes(walk, 0, walk->hidden);
}

/* The two functions of a format's reference. */
typedef struct scaled_format {
  float (*peak)(const float *, size_t, uint8_t *);
  void (*quantize)(const float *, size_t, float, uint8_t *);
} scaled_format;

static const scaled_format fp8 = {lampar_reference_fp8_peak, lampar_reference_fp8};
static const scaled_format int8 = {lampar_reference_int8_peak, lampar_reference_int8};

/* One fp32 scale, the `at`-th of the operand, for a row or a group of it. */
static lampar_status check_scaled(lampar_walk *walk, scaled_format format, size_t first,
                                  size_t count, size_t at) {
  const float *const x = walk->x + first;
  const float expected = format.peak(x, count, walk->codes + first);
  float scale;
  LAMPAR_TRY(store_scale(walk, at, expected, &scale));
  if (!walk->is_exact) format.quantize(x, count, 1 / scale, walk->codes + first);
  return store_codes(walk, first, count);
}

lampar_status lampar_walk_fp8_token(lampar_walk *walk) {
  return check_scaled(walk, fp8, 0, walk->hidden, row_scale(walk));
}

/* A scale of one byte, the `byte`-th of the operand. */
static lampar_status store_scale_byte(lampar_walk *walk, size_t at, uint8_t expected,
                                      uint8_t *scale) {
  const lampar_operand_memory *memory = lampar_walk_operand(walk, "scale", NULL);
  *scale = (uint8_t)memory->got[at];
  const int apart = *scale - expected;
  if (apart != 0 && (walk->is_exact || apart < -1 || apart > 1))
    return lampar_walk_wrong(walk, "scale", at, *scale, expected);
  memory->expected[at] = (char)*scale;
  return LAMPAR_OK;
}

static lampar_status check_group_power(lampar_walk *walk, size_t first, size_t count, size_t at) {
  const uint8_t expected = lampar_reference_fp8_power(walk->x + first, count, walk->codes + first);
  uint8_t scale;
  LAMPAR_TRY(store_scale_byte(walk, at, expected, &scale));
  if (!walk->is_exact)
    lampar_reference_fp8(walk->x + first, count, ldexpf(1, 127 - (int)scale), walk->codes + first);
  return store_codes(walk, first, count);
}

/* Elements of a group; the last one of a row may be short. */
static size_t group_length(const lampar_walk *walk, const lampar_operand_info *info, size_t first) {
  return first + info->group <= walk->hidden ? info->group : walk->hidden - first;
}

/* Four groups share a word, the first in its low byte. */
static size_t packed_scale(const lampar_walk *walk, const lampar_operand_info *info, size_t group) {
  const uint64_t stride = lampar_walk_operand(walk, "scale", NULL)->stride;
  return (size_t)lampar_operand_item(walk->call->variant, info, walk->row, group / 4, stride) * 4 +
         group % 4;
}

lampar_status lampar_walk_fp8_group(lampar_walk *walk) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, "scale", &info);
  const lampar_variant *variant = walk->call->variant;
  const size_t groups = (size_t)lampar_operand_groups(variant, info);
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * info->group, count = group_length(walk, info, first);
    if (info->dtype == LAMPAR_U32)
      LAMPAR_TRY(check_group_power(walk, first, count, packed_scale(walk, info, g)));
    else
      LAMPAR_TRY(
          check_scaled(walk, fp8, first, count,
                       (size_t)lampar_operand_item(variant, info, walk->row, g, memory->stride)));
  }
  uint8_t none;
  for (size_t g = groups; info->dtype == LAMPAR_U32 && g % 4 != 0; ++g)
    LAMPAR_TRY(store_scale_byte(walk, packed_scale(walk, info, g), 0, &none));
  return LAMPAR_OK;
}

lampar_status lampar_walk_nvfp4(lampar_walk *walk) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_walk_operand(walk, "scale", &info);
  const lampar_variant *variant = walk->call->variant;
  const float global = lampar_walk_scalar(walk, "global_scale");
  const size_t groups = (size_t)lampar_operand_groups(variant, info);
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * info->group, count = group_length(walk, info, first);
    const size_t at = (size_t)lampar_operand_item(variant, info, walk->row, g, memory->stride);
    const uint8_t expected =
        lampar_reference_nvfp4(walk->x + first, count, global, walk->codes + first);
    uint8_t scale;
    LAMPAR_TRY(store_scale_byte(walk, at, expected, &scale));
    if (scale != expected)
      lampar_reference_nvfp4_codes(walk->x + first, count, global, scale, walk->codes + first);
    LAMPAR_TRY(store_codes(walk, first, count));
  }
  return LAMPAR_OK;
}

lampar_status lampar_walk_int8_token(lampar_walk *walk) {
  return check_scaled(walk, int8, 0, walk->hidden, row_scale(walk));
}
