/* The dtypes and the sum on the host, from the formats' definitions: what a kernel's result must
 * be, bit for bit, and how far it may be from a float64 sum. An element is its bits in the low part
 * of a uint32_t; dtypes are those that kernels exist for. */
#ifndef LAMPAR_REFERENCE_H
#define LAMPAR_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack/variant.h"

/* Exact. A NaN stays a NaN. */
float lampar_decode(uint32_t dtype, uint32_t bits);

/* To nearest, ties to even; beyond the largest finite value infinity; every NaN becomes the
 * device's canonical one (0x7fff, in fp32 0x7fffffff). */
uint32_t lampar_encode(uint32_t dtype, float value);

/* Element `index` of an array of the dtype. */
uint32_t lampar_element_load(uint32_t dtype, const void *array, size_t index);
void lampar_element_store(uint32_t dtype, void *array, size_t index, uint32_t bits);

/* The bits that every rank must get: added in fp32 in the order of the ranks, rounded once.
 * `inputs` are the arrays of ranks 0 .. world-1; `output` may be one of them. */
void lampar_reference_sum(uint32_t dtype, int world, const void *const *inputs, size_t count,
                          void *output);

/* First of `count` elements that differ; `count`: none. All NaNs are equal. */
size_t lampar_reference_difference(uint32_t dtype, const void *expected, const void *got,
                                   size_t count);

/* How far the neighbours of a number are apart; of infinity, as of the least normal number. */
double lampar_reference_ulp(uint32_t dtype, double value);

/* Whether `bits` may be the sum of element `index`: half an ulp of the result, and (world-1) *
 * 2^-24 of the sum of absolute values for the fp32 additions, away from the float64 sum. `exact`
 * gets that sum. */
bool lampar_reference_within(uint32_t dtype, int world, const void *const *inputs, size_t index,
                             uint32_t bits, double *exact);

#endif
