#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "pack/dtype.h"

static const uint32_t hiddens[] = {2880, 4096, 5120, 7168, 8192, 16384};
enum { HIDDENS = sizeof hiddens / sizeof hiddens[0], ROWS_LIMIT = 128 };

static uint64_t elements_limit(uint32_t dtype) {
  return BYTES_LIMIT / lampar_dtype_bytes(dtype);
}

static lampar_status open_group(fixture *fixture, int world) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_use_world(fixture, world));
  return fixture_open_group(fixture, &config);
}

/* The expected bits of all other checks are themselves compared with a float64 sum. */
lampar_status check_float64(fixture *fixture, int world, uint64_t *calls) {
  LAMPAR_TRY(fixture_use_world(fixture, world));
  for (int d = 0; d < LAMPAR_BATCH_DTYPES; ++d) {
    LAMPAR_TRY(lampar_samples_check_bound(fixture->data.plain[d]));
    *calls += fixture->data.plain[d]->count; /* sums, not calls */
  }
  return LAMPAR_OK;
}

static lampar_status expect_row_kernel(fixture *fixture, uint32_t dtype, uint64_t rows,
                                       uint32_t hidden) {
  lampar_answer answer;
  char part[32];
  snprintf(part, sizeof part, "_%s_h%u_", lampar_dtype_name(dtype), hidden);
  LAMPAR_TRY(fixture_query(fixture, dtype, rows, hidden, &answer));
  if (answer.path == LAMPAR_PATH_KERNEL && strstr(answer.kernel, part) != NULL) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "%s, %llu x %u: %s instead of the kernel for such rows",
                     lampar_dtype_name(dtype), (unsigned long long)rows, hidden,
                     answer.kernel != NULL ? answer.kernel : answer.message);
}

/* Every hidden size of the pack with 1 to 80 rows, and 128. */
lampar_status check_rows(fixture *fixture, int world, uint64_t *calls) {
  call_list list = {0};
  uint64_t random = 1;
  LAMPAR_TRY(open_group(fixture, world));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype)
    for (int h = 0; h < HIDDENS; ++h)
      for (uint64_t rows = 1; rows <= ROWS_LIMIT; rows = rows == 80 ? ROWS_LIMIT : rows + 1) {
        LAMPAR_TRY(expect_row_kernel(fixture, dtype, rows, hiddens[h]));
        const uint64_t first = random_first(&random, dtype, rows * hiddens[h]);
        call_list_add(&list,
                      (lampar_check_call){
                          .dtype = dtype, .rows = rows, .hidden = hiddens[h], .first = first});
      }
  return call_list_run(&list, fixture, calls);
}

/* One element to 16 MiB, with and without tails. */
lampar_status check_flat(fixture *fixture, int world, uint64_t *calls) {
  static const uint64_t sizes[] = {34,     63,     64,     65,      127,     128,    129,   255,
                                   256,    257,    511,    512,     513,     1000,   1023,  1025,
                                   2049,   4099,   8191,   16385,   30011,   65536,  65537, 100003,
                                   262144, 262147, 524287, 1000003, 2097152, 3000001};
  call_list list = {0};
  uint64_t random = 2;
  LAMPAR_TRY(open_group(fixture, world));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype) {
    const uint64_t limit = elements_limit(dtype);
    const size_t listed = sizeof sizes / sizeof sizes[0];
    for (uint64_t i = 0; i < 33 + listed + 3; ++i) {
      const uint64_t elements = i < 33            ? i + 1
                                : i < 33 + listed ? sizes[i - 33]
                                                  : limit - (i - 33 - listed);
      call_list_add(&list, (lampar_check_call){.dtype = dtype,
                                               .rows = 1,
                                               .hidden = elements,
                                               .first = random_first(&random, dtype, elements)});
    }
  }
  return call_list_run(&list, fixture, calls);
}

/* Every alignment of input and of output, each rank with another one. */
lampar_status check_alignment(fixture *fixture, int world, uint64_t *calls) {
  static const struct {
    uint64_t rows, hidden;
  } shapes[] = {{1, 1},    {1, 5},     {1, 8},    {1, 100}, {1, 257},
                {1, 4099}, {1, 30011}, {3, 2880}, {2, 7168}};
  call_list list = {0};
  uint64_t random = 3;
  LAMPAR_TRY(open_group(fixture, world));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype) {
    const uint32_t vector = (uint32_t)(LAMPAR_VECTOR_BYTES / lampar_dtype_bytes(dtype));
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
      for (uint32_t in = 0; in < vector; ++in)
        for (uint32_t out = 0; out < vector; ++out) {
          const uint64_t elements = shapes[s].rows * shapes[s].hidden;
          call_list_add(&list, (lampar_check_call){.dtype = dtype,
                                                   .rows = shapes[s].rows,
                                                   .hidden = shapes[s].hidden,
                                                   .first = random_first(&random, dtype, elements),
                                                   .input_shift = in,
                                                   .output_shift = out,
                                                   .rank_shift = 1});
        }
  }
  return call_list_run(&list, fixture, calls);
}

/* Rows apart from each other, by another stride on each rank and for input and output; hidden sizes
 * with a kernel of their own and without one. */
lampar_status check_strides(fixture *fixture, int world, uint64_t *calls) {
  static const uint64_t row_counts[] = {1, 2, 5, 33, 80};
  static const uint64_t lengths[] = {7, 1000, 2880, 4096, 5120, 7168, 8192, 16384};
  static const struct {
    uint32_t gap, rank_gap;
  } gaps[] = {{0, 8}, {64, 0}, {1, 1}, {13, 3}, {1024, 512}};
  call_list list = {0};
  uint64_t random = 4;
  LAMPAR_TRY(open_group(fixture, world));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype)
    for (size_t r = 0; r < sizeof row_counts / sizeof row_counts[0]; ++r)
      for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; ++l)
        for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; ++g)
          call_list_add(&list, (lampar_check_call){.dtype = dtype,
                                                   .rows = row_counts[r],
                                                   .hidden = lengths[l],
                                                   .first = random_first(
                                                       &random, dtype, row_counts[r] * lengths[l]),
                                                   .gap = gaps[g].gap,
                                                   .rank_gap = gaps[g].rank_gap});
  return call_list_run(&list, fixture, calls);
}

/* The output is the input: every path of a kernel, aligned or not, with and without gaps. */
lampar_status check_in_place(fixture *fixture, int world, uint64_t *calls) {
  static const struct {
    uint64_t rows, hidden;
  } shapes[] = {{1, 1},       {1, 257},  {1, 65536}, {1, 100003},
                {1, 2097152}, {4, 2880}, {33, 7168}, {128, 8192}};
  call_list list = {0};
  uint64_t random = 5;
  LAMPAR_TRY(open_group(fixture, world));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype)
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s)
      for (uint32_t shift = 0; shift < 4; ++shift) {
        const uint64_t elements = shapes[s].rows * shapes[s].hidden;
        call_list_add(&list, (lampar_check_call){.dtype = dtype,
                                                 .rows = shapes[s].rows,
                                                 .hidden = shapes[s].hidden,
                                                 .first = random_first(&random, dtype, elements),
                                                 .input_shift = shift,
                                                 .gap = shift == 2 ? 8 : 0,
                                                 .rank_gap = shift == 3 ? 1 : 0,
                                                 .in_place = true});
      }
  return call_list_run(&list, fixture, calls);
}

enum { CONSTANTS = 12, SPECIALS_F32 = 24 };

/* Zeros, ones, the largest numbers, infinities, NaNs quiet and signalling, the smallest subnormal.
 */
static const uint16_t constants_bf16[CONSTANTS] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f7f, 0xff7f,
                                                   0x7f80, 0xff80, 0x7fff, 0xffff, 0x7f81, 0x0001};
static const uint16_t constants_f16[CONSTANTS] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7bff, 0xfbff,
                                                  0x7c00, 0xfc00, 0x7fff, 0xffff, 0x7c01, 0x0001};
static const uint32_t specials_f32[SPECIALS_F32] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x34000000, 0x33800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
    0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x0000ffff, 0xffff0000};

/* 16 bits: all 65,536 patterns on one rank after the other, the rest holding one constant after the
 * other. fp32: every triple of special values, then any bits. */
static uint32_t special_value(uint32_t dtype, int rank, size_t index, const void *user) {
  const uint64_t seed = 77;
  if (dtype == LAMPAR_F32) {
    size_t digit = index;
    for (int i = 0; i < rank % 3; ++i) digit /= SPECIALS_F32;
    const size_t triples = SPECIALS_F32 * SPECIALS_F32 * SPECIALS_F32;
    if (index < triples) return specials_f32[digit % SPECIALS_F32];
    return lampar_sample_bits(dtype, rank, index, &seed);
  }
  const int world = *(const int *)user;
  const size_t segment = index / 65536;
  if ((int)(segment % (size_t)world) == rank) return index % 65536;
  const uint16_t *constants = dtype == LAMPAR_BF16 ? constants_bf16 : constants_f16;
  return constants[segment / (size_t)world % CONSTANTS];
}

static lampar_status run_special(fixture *fixture, int world, uint32_t dtype, uint64_t *calls) {
  const size_t count = dtype == LAMPAR_F32 ? 1 << 20 : (size_t)65536 * CONSTANTS * (size_t)world;
  lampar_samples special;
  LAMPAR_TRY(lampar_samples_create(dtype, world, count, special_value, &world, &special));
  lampar_batch_data data = {0};
  data.plain[dtype] = &special;
  call_list list = {0};
  /* Through a flat kernel, the vector path and the other, and through a row kernel. */
  for (uint32_t shift = 0; shift < 2; ++shift)
    call_list_add(&list, (lampar_check_call){.dtype = dtype,
                                             .rows = 1,
                                             .hidden = count,
                                             .input_shift = shift,
                                             .output_shift = shift});
  for (uint64_t first = 0; first < count; first += 16 * 4096)
    call_list_add(&list,
                  (lampar_check_call){.dtype = dtype, .rows = 16, .hidden = 4096, .first = first});
  lampar_status status = LAMPAR_OK;
  if (!list.complete) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  if (status == LAMPAR_OK)
    status = lampar_batches_run(fixture->batches, &data, list.calls, list.count, NULL, NULL);
  *calls += list.count;
  call_list_free(&list);
  lampar_samples_destroy(&special);
  return status;
}

lampar_status check_special_values(fixture *fixture, int world, uint64_t *calls) {
  const lampar_group_config config = fixture_config();
  LAMPAR_TRY(fixture_open_group(fixture, &config));
  for (uint32_t dtype = 0; dtype < LAMPAR_BATCH_DTYPES; ++dtype)
    LAMPAR_TRY(run_special(fixture, world, dtype, calls));
  return LAMPAR_OK;
}
