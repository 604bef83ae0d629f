#include "verify/stage_reference.h"

#include <float.h>
#include <math.h>

#include "verify/formats.h"

/* The sum as an fp32 accumulator would hold it, except for rounding. */
static double accumulated(double sum, bool is_wide) {
  return !is_wide && sum > FLT_MAX ? INFINITY : sum;
}

void lampar_reference_rmsnorm(const float *x, size_t count, const float *weight, float offset,
                              float eps, bool is_wide, lampar_norm *norm) {
  double squares = 0;
  for (size_t i = 0; i < count; ++i) squares += (double)x[i] * x[i];
  const double inverse = 1 / sqrt(accumulated(squares, is_wide) / (double)count + eps);
  for (size_t i = 0; i < count; ++i) {
    norm->value[i] = x[i] * inverse * (weight != NULL ? (double)offset + weight[i] : 1);
    norm->tolerance[i] = 0;
  }
}

void lampar_reference_layernorm(const float *x, size_t count, const float *weight,
                                const float *bias, float eps, bool is_wide, lampar_norm *norm) {
  double sum = 0, absolute_sum = 0, squares = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += x[i];
    absolute_sum += fabs((double)x[i]);
  }
  const double mean = sum / (double)count;
  for (size_t i = 0; i < count; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const double inverse = 1 / sqrt(accumulated(squares, is_wide) / (double)count + eps);
  /* The mean is an fp32 number: its rounding error matters where x is near it, and where the bias
   * cancels most of the product. */
  const double unit = is_wide ? 0x1p-50 : 0x1p-22;
  const double mean_error = unit * absolute_sum / (double)count;
  for (size_t i = 0; i < count; ++i) {
    const double factor = inverse * (weight != NULL ? weight[i] : 1);
    const double product = (x[i] - mean) * factor;
    norm->value[i] = product + (bias != NULL ? bias[i] : 0);
    norm->tolerance[i] = fabs(factor) * mean_error + (bias != NULL ? unit * fabs(product) : 0);
  }
}

float lampar_reference_amax(const float *x, size_t count) {
  float amax = 0;
  for (size_t i = 0; i < count; ++i)
    if (fabsf(x[i]) > amax) amax = fabsf(x[i]);
  return amax;
}

void lampar_reference_fp8(const float *x, size_t count, float inverse, uint8_t *codes) {
  for (size_t i = 0; i < count; ++i) codes[i] = lampar_e4m3_encode(x[i] * inverse);
}

/* The amax, but no less than the value whose scale is the least normal number. */
static float scaled_amax(const float *x, size_t count, float limit) {
  return fmaxf(lampar_reference_amax(x, count), limit * 0x1p-126f);
}

uint8_t lampar_reference_fp8_power_of(float amax) {
  return lampar_e8m0_above(fmaxf(amax, 448 * 0x1p-126f) / 448);
}

uint8_t lampar_reference_nvfp4_scale_of(float amax, float global) {
  const float sixth = amax / 6;
  return lampar_e4m3_encode(global * sixth);
}

float lampar_reference_fp8_amax(const float *x, size_t count, uint8_t *codes) {
  const float amax = scaled_amax(x, count, 448);
  lampar_reference_fp8(x, count, 448 / amax, codes);
  return amax / 448;
}

uint8_t lampar_reference_fp8_power(const float *x, size_t count, uint8_t *codes) {
  const uint8_t power = lampar_reference_fp8_power_of(lampar_reference_amax(x, count));
  lampar_reference_fp8(x, count, ldexpf(1, 127 - (int)power), codes);
  return power;
}

uint8_t lampar_reference_nvfp4(const float *x, size_t count, float global, uint8_t *codes) {
  const uint8_t scale = lampar_reference_nvfp4_scale_of(lampar_reference_amax(x, count), global);
  lampar_reference_nvfp4_codes(x, count, global, scale, codes);
  return scale;
}

void lampar_reference_nvfp4_codes(const float *x, size_t count, float global, uint8_t scale,
                                  uint8_t *codes) {
  const float decoded = lampar_e4m3_decode(scale);
  const float inverse = decoded > 0 ? global / decoded : 0;
  for (size_t i = 0; i < count; ++i) codes[i] = lampar_e2m1_encode(x[i] * inverse);
}

void lampar_reference_int8(const float *x, size_t count, float inverse, uint8_t *codes) {
  for (size_t i = 0; i < count; ++i) {
    const float scaled = nearbyintf(x[i] * inverse);
    const float held = isnan(scaled) ? 0 : fminf(fmaxf(scaled, -127), 127);
    codes[i] = (uint8_t)(int8_t)held;
  }
}

float lampar_reference_int8_amax(const float *x, size_t count, uint8_t *codes) {
  const float amax = scaled_amax(x, count, 127);
  lampar_reference_int8(x, count, 127 / amax, codes);
  return amax / 127;
}
