/* References for the stages of an epilogue on one row: norms in float64, quantised results exactly
 * as their formats define them. Written from the definitions, not from the kernels. */
#ifndef LAMPAR_STAGE_REFERENCE_H
#define LAMPAR_STAGE_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A norm's results, and the error that fp32 arithmetic may add to each besides its own rounding:
 * none for a product, some where a sum cancels. */
typedef struct lampar_norm {
  double *value;
  double *tolerance;
} lampar_norm;

/* x / sqrt(mean(x^2) + eps) * (offset + weight); without a weight (NULL) the factor is 1. The
 * kernels add squares in fp32, so a sum beyond its range is infinity, unless `is_wide`: fp32 rows
 * are added in float64. */
void lampar_reference_rmsnorm(const float *x, size_t count, const float *weight, float offset,
                              float eps, bool is_wide, lampar_norm *norm);

/* (x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias; without either 1 and 0. */
void lampar_reference_layernorm(const float *x, size_t count, const float *weight,
                                const float *bias, float eps, bool is_wide, lampar_norm *norm);

/* The largest absolute value; NaNs do not count. 0 for a row of NaNs. */
float lampar_reference_amax(const float *x, size_t count);

/* e4m3 of x * inverse. */
void lampar_reference_fp8(const float *x, size_t count, float inverse, uint8_t *codes);

/* A scale for a row or group: amax / 448, and e4m3 of x * (448 / amax). Here and below an amax is
 * at least the value whose scale is 2^-126, the least normal number. */
float lampar_reference_fp8_amax(const float *x, size_t count, uint8_t *codes);

/* The same with a power of two as scale, the smallest that is not below amax / 448; an e8m0. */
uint8_t lampar_reference_fp8_power(const float *x, size_t count, uint8_t *codes);
uint8_t lampar_reference_fp8_power_of(float amax);

/* One group of NVFP4: the scale is e4m3 of global * (amax / 6), the codes are e2m1 of x * (global /
 * scale), or zeros for a scale of 0. One code a byte. */
uint8_t lampar_reference_nvfp4(const float *x, size_t count, float global, uint8_t *codes);
uint8_t lampar_reference_nvfp4_scale_of(float amax, float global);

/* The codes for a scale that is given. */
void lampar_reference_nvfp4_codes(const float *x, size_t count, float global, uint8_t scale,
                                  uint8_t *codes);

/* x * inverse rounded half to even, in -127 .. 127; a NaN is 0. */
void lampar_reference_int8(const float *x, size_t count, float inverse, uint8_t *codes);

/* The scale amax / 127, and the codes for 127 / amax. */
float lampar_reference_int8_amax(const float *x, size_t count, uint8_t *codes);

#endif
