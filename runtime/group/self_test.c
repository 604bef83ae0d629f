#include "group/self_test.h"

#include <string.h>
#include <time.h>

#include "base/error.h"
#include "pack/dtype.h"

enum { ROUNDS = 3, ELEMENTS_MAX = 8192 }; /* three: each half of a mailbox, and one of them again */

/* Small integers, whose sums over 16 ranks are exact in every dtype. */
static int number_of(int rank, uint64_t element, int round) {
  return (int)((element * 7 + (uint64_t)(rank * 13 + round * 5)) % 31) - 15;
}

static int sum_of(int world, uint64_t element, int round) {
  int sum = 0;
  for (int rank = 0; rank < world; ++rank) sum += number_of(rank, element, round);
  return sum;
}

/* Encodes an integer of at most 11 bits in the dtype, little-endian. */
static void encode(uint32_t dtype, int number, uint8_t *bytes) {
  const float value = (float)number;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == LAMPAR_BF16) bits >>= 16;
  if (dtype == LAMPAR_F16 && number != 0) {
    const uint32_t sign = bits >> 31, exponent = (bits >> 23 & 0xff) - 127 + 15;
    bits = sign << 15 | exponent << 10 | (bits >> 13 & 0x3ff);
  }
  memcpy(bytes, &bits, lampar_dtype_bytes(dtype));
}

static uint64_t bytes_of(const lampar_self_test *test) {
  return test->elements * lampar_dtype_bytes(test->kernel->packed->variant.dtype);
}

lampar_status lampar_self_test_open(lampar_self_test *test, const lampar_driver *driver,
                                    const lampar_kernels *kernels) {
  *test = (lampar_self_test){.kernel =
                                 &kernels->list[0]}; /* the first one is plain: those sort first */
  const lampar_variant *variant = &test->kernel->packed->variant;
  test->elements = variant->hidden;
  if (variant->hidden == 0) {
    test->elements = variant->max_bytes / lampar_dtype_bytes(variant->dtype);
    if (test->elements > ELEMENTS_MAX) test->elements = ELEMENTS_MAX;
    if (variant->alignment > 0)
      test->elements -= test->elements % (variant->alignment / lampar_dtype_bytes(variant->dtype));
  }
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc(&test->device, 2 * bytes_of(test)),
                                 "cuMemAlloc for the self-test"));
  return lampar_driver_check(
      driver, driver->host_alloc(&test->host, 2 * bytes_of(test), LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc for the self-test");
}

/* Polls, because a blocking wait could stop the other ranks of this process. */
static lampar_status wait(const lampar_driver *driver, struct CUstream_st *stream) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (;;) {
    const int result = driver->stream_query(stream);
    if (result != LAMPAR_CUDA_ERROR_NOT_READY)
      return lampar_driver_check(driver, result, "self-test");
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start.tv_sec > 2 * LAMPAR_SELF_TEST_SECONDS)
      return lampar_fail(LAMPAR_ERROR_TIMEOUT,
                         "a kernel without a watchdog has not ended after %d s",
                         2 * LAMPAR_SELF_TEST_SECONDS);
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
  }
}

static lampar_status run_round(lampar_self_test *test, const lampar_driver *driver,
                               lampar_arguments *arguments, const lampar_workspace *workspace,
                               int rank, int world, int round, struct CUstream_st *stream) {
  const uint32_t dtype = test->kernel->packed->variant.dtype;
  const size_t element = lampar_dtype_bytes(dtype);
  const uint64_t bytes = bytes_of(test);
  uint8_t *host = test->host;
  for (uint64_t i = 0; i < test->elements; ++i)
    encode(dtype, number_of(rank, i, round), host + i * element);
  memset(host + bytes, 0xaa, bytes);
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->copy_to_device_async(test->device, host, 2 * bytes, stream),
      "cuMemcpyHtoDAsync"));
  LAMPAR_TRY(lampar_launch(driver, test->kernel, arguments, false, stream));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->copy_to_host_async(host + bytes, test->device + bytes, bytes, stream),
      "cuMemcpyDtoHAsync"));
  LAMPAR_TRY(wait(driver, stream));

  if (lampar_workspace_is_faulted(workspace))
    return lampar_fail(LAMPAR_ERROR_TIMEOUT, "nothing came from the ranks in mask 0x%x within %d s",
                       workspace->fault->missing, LAMPAR_SELF_TEST_SECONDS);
  for (uint64_t i = 0; i < test->elements; ++i) {
    uint8_t expected[sizeof(uint32_t)];
    encode(dtype, sum_of(world, i, round), expected);
    if (memcmp(expected, host + bytes + i * element, element) != 0)
      return lampar_fail(LAMPAR_ERROR_MISMATCH,
                         "element %llu of %s's sum is wrong: stores between these GPUs are lost or "
                         "damaged",
                         (unsigned long long)i, test->kernel->packed->record->name);
  }
  return LAMPAR_OK;
}

lampar_status lampar_self_test_run(lampar_self_test *test, const lampar_driver *driver,
                                   const lampar_arguments *arguments,
                                   const lampar_workspace *workspace, int rank, int world,
                                   struct CUstream_st *stream) {
  lampar_arguments own = *arguments;
  const uint64_t bound = LAMPAR_SELF_TEST_SECONDS * 1000000000ull;
  if (own.watchdog_ns > bound) own.watchdog_ns = bound;
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)test->device;
  call.output = (void *)(uintptr_t)(test->device + bytes_of(test));
  call.hidden = test->elements;
  LAMPAR_TRY(lampar_arguments_fill_from_call(&own, &call, &test->kernel->packed->variant));
  for (int round = 0; round < ROUNDS; ++round)
    LAMPAR_TRY(run_round(test, driver, &own, workspace, rank, world, round, stream));
  return LAMPAR_OK;
}

void lampar_self_test_close(lampar_self_test *test, const lampar_driver *driver) {
  if (test->device != 0) driver->memory_free(test->device);
  if (test->host != NULL) driver->host_free(test->host);
  *test = (lampar_self_test){0};
}
