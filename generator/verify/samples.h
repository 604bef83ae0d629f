/* Inputs of every rank, and the exact bits of their sum. An element's sum depends on nothing
 * but that element of each input, so any slice of the inputs is the input of a call whose result is
 * known. */
#ifndef LAMPAR_SAMPLES_H
#define LAMPAR_SAMPLES_H

#include "pack/variant.h"

typedef struct lampar_samples {
  uint32_t dtype;
  int world;
  size_t count; /* elements */
  void *input[LAMPAR_WORLD_MAX];
  void *expected;
} lampar_samples;

/* Bits of one element of a rank's input. Pure: called from several threads. */
typedef uint32_t (*lampar_sample_function)(uint32_t dtype, int rank, size_t index,
                                           const void *user);

/* Errors: SYSTEM. */
lampar_status lampar_samples_create(uint32_t dtype, int world, size_t count,
                                    lampar_sample_function element, const void *user,
                                    lampar_samples *samples);
void lampar_samples_destroy(lampar_samples *samples);

/* MISMATCH, with the element, when an expected sum is further from the float64 sum than its bound.
 */
lampar_status lampar_samples_check_bound(const lampar_samples *samples);

/* Finite numbers over many binades, some zeros and subnormals. `user` is a uint64_t, the seed. */
uint32_t lampar_sample_finite(uint32_t dtype, int rank, size_t index, const void *user);

/* Any bits at all. `user` is a uint64_t, the seed. */
uint32_t lampar_sample_bits(uint32_t dtype, int rank, size_t index, const void *user);

#endif
