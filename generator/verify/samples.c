#include "verify/samples.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/reference.h"

enum { THREADS_MAX = 16 };

/* A share of the elements, for one thread. */
typedef struct share {
  lampar_samples *samples;
  lampar_sample_function element; /* NULL: the bound is checked instead */
  const void *user;
  size_t begin, end;
  size_t out_of_bound; /* `end`: none */
} share;

static void fill(const share *part) {
  const lampar_samples *s = part->samples;
  const size_t bytes = lampar_dtype_bytes(s->dtype);
  const void *slices[LAMPAR_WORLD_MAX];
  for (int rank = 0; rank < s->world; ++rank) {
    for (size_t i = part->begin; i < part->end; ++i)
      lampar_element_store(s->dtype, s->input[rank], i,
                           part->element(s->dtype, rank, i, part->user));
    slices[rank] = (const char *)s->input[rank] + part->begin * bytes;
  }
  lampar_reference_sum(s->dtype, s->world, slices, part->end - part->begin,
                       (char *)s->expected + part->begin * bytes);
}

static void check_bound(share *part) {
  const lampar_samples *s = part->samples;
  double exact;
  for (size_t i = part->begin; i < part->end; ++i) {
    const uint32_t bits = lampar_element_load(s->dtype, s->expected, i);
    if (lampar_reference_within(s->dtype, s->world, (const void *const *)s->input, i, bits, &exact))
      continue;
    part->out_of_bound = i;
    return;
  }
}

static void *work(void *argument) {
  share *part = argument;
  if (part->element != NULL) fill(part);
  else check_bound(part);
  return NULL;
}

/* Shares the elements out; returns the first that is out of bound, or their count. */
static size_t divide(lampar_samples *samples, lampar_sample_function element, const void *user) {
  pthread_t threads[THREADS_MAX];
  share shares[THREADS_MAX];
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (processors < 1) processors = 1;
  const int parts = processors < THREADS_MAX ? (int)processors : THREADS_MAX;
  bool started[THREADS_MAX] = {false};
  for (int i = 0; i < parts; ++i) {
    const size_t begin = samples->count * (size_t)i / (size_t)parts;
    const size_t end = samples->count * ((size_t)i + 1) / (size_t)parts;
    shares[i] = (share){samples, element, user, begin, end, end};
    started[i] = pthread_create(&threads[i], NULL, work, &shares[i]) == 0;
    if (!started[i]) work(&shares[i]);
  }
  size_t first = samples->count;
  for (int i = parts - 1; i >= 0; --i) {
    if (started[i]) pthread_join(threads[i], NULL);
    if (shares[i].out_of_bound < shares[i].end) first = shares[i].out_of_bound;
  }
  return first;
}

lampar_status lampar_samples_create(uint32_t dtype, int world, size_t count,
                                    lampar_sample_function element, const void *user,
                                    lampar_samples *samples) {
  *samples = (lampar_samples){.dtype = dtype, .world = world, .count = count};
  const size_t bytes = count * lampar_dtype_bytes(dtype);
  bool complete = (samples->expected = malloc(bytes)) != NULL;
  for (int rank = 0; rank < world && complete; ++rank)
    complete = (samples->input[rank] = malloc(bytes)) != NULL;
  if (!complete) {
    lampar_samples_destroy(samples);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %d inputs of %zu bytes", world,
                       bytes);
  }
  divide(samples, element, user);
  return LAMPAR_OK;
}

void lampar_samples_destroy(lampar_samples *samples) {
  for (int rank = 0; rank < samples->world; ++rank) free(samples->input[rank]);
  free(samples->expected);
  *samples = (lampar_samples){0};
}

lampar_status lampar_samples_check_bound(const lampar_samples *samples) {
  lampar_samples view = *samples;
  const size_t index = divide(&view, NULL, NULL);
  if (index == samples->count) return LAMPAR_OK;
  const uint32_t bits = lampar_element_load(samples->dtype, samples->expected, index);
  double exact;
  lampar_reference_within(samples->dtype, samples->world, (const void *const *)samples->input,
                          index, bits, &exact);
  return lampar_fail(LAMPAR_ERROR_MISMATCH,
                     "%s, world %d, element %zu: sum %a, float64 %a: too far apart",
                     lampar_dtype_name(samples->dtype), samples->world, index,
                     (double)lampar_decode(samples->dtype, bits), exact);
}

/* Bits that look random and depend on nothing but seed, rank and index (the finaliser of
 * splitmix64). */
static uint64_t scramble(uint64_t seed, int rank, size_t index) {
  uint64_t x = seed + ((uint64_t)rank << 56) + (uint64_t)index * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint32_t lampar_sample_bits(uint32_t dtype, int rank, size_t index, const void *user) {
  const uint64_t random = scramble(*(const uint64_t *)user, rank, index);
  return dtype == LAMPAR_F32 ? (uint32_t)random : (uint32_t)random & 0xffff;
}

uint32_t lampar_sample_finite(uint32_t dtype, int rank, size_t index, const void *user) {
  const uint64_t random = scramble(*(const uint64_t *)user, rank, index);
  const uint32_t mantissa = (uint32_t)random, spread = (uint32_t)(random >> 32) % 15;
  const uint32_t sign = (uint32_t)(random >> 63), rare = (uint32_t)(random >> 48) % 128;
  /* One in 128 is a zero, another a subnormal; the rest lies between 2^-9 and 2^6. */
  const bool zero = rare == 0, subnormal = rare == 1;
  switch (dtype) {
  case LAMPAR_BF16:
    return sign << 15 | (zero ? 0 : (subnormal ? 0 : 127 - 9 + spread) << 7 | (mantissa & 0x7f));
  case LAMPAR_F16:
    return sign << 15 | (zero ? 0 : (subnormal ? 0 : 15 - 9 + spread) << 10 | (mantissa & 0x3ff));
  default:
    return sign << 31 |
           (zero ? 0 : (subnormal ? 0 : 127 - 9 + spread) << 23 | (mantissa & 0x7fffff));
  }
}
