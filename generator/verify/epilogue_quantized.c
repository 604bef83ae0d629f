/* The checks of quantising stages. Where x is known bit for bit, so are scales and codes. After a
 * norm that is not stored, the kernel's amax is known within the tolerance of the elements: the
 * scale is one of those that such an amax has, and the codes, computed with the kernel's scale, may
 * differ by one. */
#include <math.h>

#include "base/error.h"
#include "verify/epilogue_layout.h"
#include "verify/formats.h"
#include "verify/reference.h"
#include "verify/row_check.h"
#include "verify/stage_reference.h"

/* Codes of a format with a sign in ascending order; int8 as it is. */
static int position(uint32_t dtype, uint8_t code) {
  const int sign = dtype == LAMPAR_F4E2M1X2 ? 0x8 : 0x80;
  if (dtype == LAMPAR_I8) return (int8_t)code;
  return code & sign ? -(code & (sign - 1)) : code;
}

static bool is_code_right(const lampar_row_check *check, uint32_t dtype, uint8_t got,
                          uint8_t expected) {
  if (got == expected) return true;
  if (check->is_exact ||
      (dtype == LAMPAR_F8E4M3 && ((got & 0x7f) == 0x7f || (expected & 0x7f) == 0x7f)))
    return false;
  const int apart = position(dtype, got) - position(dtype, expected);
  return apart >= -1 && apart <= 1;
}

/* Compares the row's codes from `first` on with check->codes. */
static lampar_status store_codes(lampar_row_check *check, size_t first, size_t count) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, "quantized", &info);
  for (size_t i = first; i < first + count; ++i) {
    const bool is_half = info->dtype == LAMPAR_F4E2M1X2; /* two codes a byte */
    const size_t at = (size_t)lampar_operand_item(check->call->variant, info, check->row,
                                                  is_half ? i / 2 : i, memory->stride);
    const int shift = is_half ? (int)(i % 2) * 4 : 0;
    const uint8_t mask = (uint8_t)((is_half ? 0xf : 0xff) << shift);
    const uint8_t got = (uint8_t)(((uint8_t)memory->got[at] & mask) >> shift);
    if (!is_code_right(check, info->dtype, got, check->codes[i]))
      return lampar_row_check_wrong(check, "quantized", i, got, check->codes[i]);
    memory->expected[at] = (char)(((uint8_t)memory->expected[at] & ~mask) | (got << shift));
  }
  return LAMPAR_OK;
}

/* What the kernel's amax of some elements can be. */
typedef struct bounds {
  float low, high;
} bounds;

static bounds bounds_of_amax(const lampar_row_check *check, size_t first, size_t count) {
  bounds b = {0, 0};
  for (size_t i = first; i < first + count; ++i) {
    const double x = fabs((double)check->x[i]),
                 tolerance = check->is_exact ? 0 : check->tolerance[i];
    if (isnan(x)) continue;
    const bool is_finite = isfinite(x) && isfinite(tolerance);
    b.low = fmaxf(b.low, (float)(is_finite ? x - tolerance : x));
    b.high = fmaxf(b.high, (float)(is_finite ? x + tolerance : x));
  }
  return b;
}

/* Compares an fp32 scale with the expected one; `*scale` gets the kernel's. */
static lampar_status store_scale(lampar_row_check *check, size_t at, float expected, bounds scales,
                                 float *scale) {
  const lampar_operand_memory *memory = lampar_row_check_operand(check, "scale", NULL);
  const uint32_t got = lampar_element_load(LAMPAR_F32, memory->got, at);
  *scale = lampar_decode(LAMPAR_F32, got);
  const bool is_right = got == lampar_encode(LAMPAR_F32, expected) ||
                        (!check->is_exact && *scale >= scales.low && *scale <= scales.high);
  if (!is_right) return lampar_row_check_wrong(check, "scale", at, *scale, expected);
  lampar_element_store(LAMPAR_F32, memory->expected, at, got);
  return LAMPAR_OK;
}

/* The place of the row's one scale. */
static size_t row_scale(const lampar_row_check *check) {
  return (size_t)(check->row * lampar_row_check_operand(check, "scale", NULL)->stride);
}

lampar_status lampar_row_check_fp8_static(lampar_row_check *check) {
  lampar_reference_fp8(check->x, check->hidden, 1 / lampar_row_check_scalar(check, "scale"),
                       check->codes);
  return store_codes(check, 0, check->hidden);
}

/* The largest number of a format, and the two functions of its reference. */
typedef struct scaled_format {
  float limit;
  float (*amax)(const float *, size_t, uint8_t *);
  void (*quantize)(const float *, size_t, float, uint8_t *);
} scaled_format;

static const scaled_format fp8 = {448, lampar_reference_fp8_amax, lampar_reference_fp8};
static const scaled_format int8 = {127, lampar_reference_int8_amax, lampar_reference_int8};

/* One fp32 scale, the `at`-th of the operand, for a row or a group of it. */
static lampar_status check_scaled(lampar_row_check *check, scaled_format format, size_t first,
                                  size_t count, size_t at) {
  const float *const x = check->x + first;
  const float expected = format.amax(x, count, check->codes + first);
  const bounds amax = bounds_of_amax(check, first, count);
  const bounds scales = {fmaxf(amax.low / format.limit, 0x1p-126f),
                         fmaxf(amax.high / format.limit, 0x1p-126f)};
  float scale;
  LAMPAR_TRY(store_scale(check, at, expected, scales, &scale));
  if (!check->is_exact) format.quantize(x, count, 1 / scale, check->codes + first);
  return store_codes(check, first, count);
}

lampar_status lampar_row_check_fp8_token(lampar_row_check *check) {
  return check_scaled(check, fp8, 0, check->hidden, row_scale(check));
}

/* A scale of one byte, the `at`-th of the operand: the expected one, or, if x is not exact, one in
 * `low` .. `high`. */
static lampar_status store_scale_byte(lampar_row_check *check, size_t at, uint8_t expected,
                                      uint8_t low, uint8_t high, uint8_t *scale) {
  const lampar_operand_memory *memory = lampar_row_check_operand(check, "scale", NULL);
  *scale = (uint8_t)memory->got[at];
  if (*scale != expected && (check->is_exact || *scale < low || *scale > high))
    return lampar_row_check_wrong(check, "scale", at, *scale, expected);
  memory->expected[at] = (char)*scale;
  return LAMPAR_OK;
}

static lampar_status check_group_power(lampar_row_check *check, size_t first, size_t count,
                                       size_t at) {
  const uint8_t expected =
      lampar_reference_fp8_power(check->x + first, count, check->codes + first);
  const bounds amax = bounds_of_amax(check, first, count);
  uint8_t scale;
  LAMPAR_TRY(store_scale_byte(check, at, expected, lampar_reference_fp8_power_of(amax.low),
                              lampar_reference_fp8_power_of(amax.high), &scale));
  if (!check->is_exact)
    lampar_reference_fp8(check->x + first, count, ldexpf(1, 127 - (int)scale),
                         check->codes + first);
  return store_codes(check, first, count);
}

/* Elements of a group; the last one of a row may be short. */
static size_t group_length(const lampar_row_check *check, const lampar_operand_info *info,
                           size_t first) {
  return first + info->group <= check->hidden ? info->group : check->hidden - first;
}

/* Four groups share a word, the first in its low byte. */
static size_t packed_scale(const lampar_row_check *check, const lampar_operand_info *info,
                           size_t group) {
  const uint64_t stride = lampar_row_check_operand(check, "scale", NULL)->stride;
  return (size_t)lampar_operand_item(check->call->variant, info, check->row, group / 4, stride) *
             4 +
         group % 4;
}

lampar_status lampar_row_check_fp8_group(lampar_row_check *check) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, "scale", &info);
  const lampar_variant *variant = check->call->variant;
  const size_t groups = (size_t)lampar_operand_groups(variant, info);
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * info->group, count = group_length(check, info, first);
    if (info->dtype == LAMPAR_U32)
      LAMPAR_TRY(check_group_power(check, first, count, packed_scale(check, info, g)));
    else
      LAMPAR_TRY(
          check_scaled(check, fp8, first, count,
                       (size_t)lampar_operand_item(variant, info, check->row, g, memory->stride)));
  }
  uint8_t none;
  for (size_t g = groups; info->dtype == LAMPAR_U32 && g % 4 != 0; ++g)
    LAMPAR_TRY(store_scale_byte(check, packed_scale(check, info, g), 0, 0, 0, &none));
  return LAMPAR_OK;
}

lampar_status lampar_row_check_nvfp4(lampar_row_check *check) {
  const lampar_operand_info *info = NULL;
  const lampar_operand_memory *memory = lampar_row_check_operand(check, "scale", &info);
  const lampar_variant *variant = check->call->variant;
  const float global = lampar_row_check_scalar(check, "global_scale");
  const size_t groups = (size_t)lampar_operand_groups(variant, info);
  for (size_t g = 0; g < groups; ++g) {
    const size_t first = g * info->group, count = group_length(check, info, first);
    const size_t at = (size_t)lampar_operand_item(variant, info, check->row, g, memory->stride);
    const uint8_t expected =
        lampar_reference_nvfp4(check->x + first, count, global, check->codes + first);
    const bounds amax = bounds_of_amax(check, first, count);
    uint8_t scale;
    LAMPAR_TRY(store_scale_byte(check, at, expected,
                                lampar_reference_nvfp4_scale_of(amax.low, global),
                                lampar_reference_nvfp4_scale_of(amax.high, global), &scale));
    if (scale != expected)
      lampar_reference_nvfp4_codes(check->x + first, count, global, scale, check->codes + first);
    LAMPAR_TRY(store_codes(check, first, count));
  }
  return LAMPAR_OK;
}

lampar_status lampar_row_check_int8_token(lampar_row_check *check) {
  return check_scaled(check, int8, 0, check->hidden, row_scale(check));
}
