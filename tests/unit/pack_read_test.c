#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pack_fixture.h"

#define KEY   .arch = 90, .algorithm = LAMPAR_ONESHOT, .world = 2, .dtype = LAMPAR_BF16
#define SHAPE .cluster = 1, .vectors_per_warp = 1, .trigger = 1, .watchdog_ms = 1000
static const lampar_variant kernels[] = {
    {KEY, SHAPE, .persistent = 1, .max_bytes = 1 << 20, .threads = 256},
    {KEY, SHAPE, .hidden = 2880, .max_rows = 8, .max_bytes = 8 * 2880 * 2, .threads = 128},
    {KEY, SHAPE, .hidden = 2048, .max_rows = 4, .max_bytes = 4 * 2048 * 2, .threads = 256,
     .alignment = 16, .epilogue = "residual", .operand_count = 1,
     .operands = {{.name = "residual", .dtype = LAMPAR_BF16}}},
};
enum { COUNT = 3 };

static void opens_what_is_whole(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  lampar_pack *pack;
  assert_int_equal(lampar_pack_open_memory(bytes, size, "whole", &pack), LAMPAR_OK);
  assert_int_equal(lampar_pack_count(pack), COUNT);
  assert_string_equal(lampar_pack_name(pack), "fixture");
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  assert_int_equal(lampar_pack_info(pack, 1, &info), LAMPAR_OK);
  assert_string_equal(info.name, "ar_oneshot_w2_bf16_h2880_sm_90_r8");
  assert_string_equal(info.arch, "sm_90");
  assert_int_equal(info.max_rows, 8);
  assert_int_equal(info.registers, 40);
  assert_string_equal(info.algorithm, "oneshot");
  assert_string_equal(info.epilogue, "");
  assert_int_equal(lampar_pack_info(pack, 2, &info), LAMPAR_OK);
  assert_string_equal(info.epilogue, "residual");
  assert_int_equal(info.operand_count, 1);
  assert_string_equal(info.operands[0]->name, "residual");
  assert_int_equal(lampar_pack_info(pack, COUNT, &info), LAMPAR_ERROR_ARGUMENT);
  lampar_pack_close(pack);
  free(bytes);
}

/* A caller built against an older header has a shorter struct; one without a size is refused. */
static void writes_only_what_the_caller_has_room_for(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  lampar_pack *pack;
  assert_int_equal(lampar_pack_open_memory(bytes, size, "older", &pack), LAMPAR_OK);
  lampar_kernel_info info, before;
  memset(&info, 0x55, sizeof info);
  info.size = offsetof(lampar_kernel_info, trigger);
  before = info;
  assert_int_equal(lampar_pack_info(pack, 1, &info), LAMPAR_OK);
  assert_int_equal(info.threads, 128);
  assert_int_equal(info.size, before.size);
  assert_memory_equal((char *)&info + info.size, (char *)&before + info.size,
                      sizeof info - info.size);
  info.size = 0;
  assert_int_equal(lampar_pack_info(pack, 1, &info), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(),
                      "lampar_kernel_info: its size is not set: start from the _INIT macro");
  assert_int_equal(lampar_pack_info(pack, 1, NULL), LAMPAR_ERROR_ARGUMENT);
  lampar_pack_close(pack);
  free(bytes);
}

static void describes_every_field(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  lampar_pack *pack;
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  assert_int_equal(lampar_pack_open_memory(bytes, size, "whole", &pack), LAMPAR_OK);
  assert_int_equal(lampar_pack_info(pack, 2, &info), LAMPAR_OK);
  assert_int_equal(info.size, sizeof info);
  assert_int_equal(info.world, 2);
  assert_int_equal(info.dtype, LAMPAR_BF16);
  assert_int_equal(info.rounding, LAMPAR_ROUNDING_UNFUSED);
  assert_int_equal(info.hidden, 2048);
  assert_int_equal(info.max_bytes, 4 * 2048 * 2);
  assert_int_equal(info.persistent, 0);
  assert_int_equal(info.threads, 256);
  assert_int_equal(info.cluster, 1);
  assert_int_equal(info.vectors_per_warp, 1);
  assert_string_equal(info.trigger, "early");
  assert_int_equal(info.watchdog_ms, 1000);
  assert_int_equal(info.alignment, 16);
  assert_int_equal(info.spill_bytes, 0);
  assert_non_null(info.code);
  assert_int_equal(info.code_size, 100);
  lampar_pack_close(pack);
  free(bytes);
}

/* Every bit of every byte: the digest covers all of them, the header's own fields included. */
static void refuses_any_flipped_bit(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  for (size_t i = 0; i < size; ++i)
    for (int bit = 0; bit < 8; ++bit) {
      lampar_pack *pack;
      bytes[i] ^= (uint8_t)(1 << bit);
      const lampar_status status = lampar_pack_open_memory(bytes, size, "flipped", &pack);
      if (status != LAMPAR_ERROR_PACK && status != LAMPAR_ERROR_VERSION)
        fail_msg("byte %zu, bit %d: status %d", i, bit, (int)status);
      bytes[i] ^= (uint8_t)(1 << bit);
    }
  free(bytes);
}

static void refuses_every_truncation(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  for (size_t length = 0; length < size; ++length) {
    /* In a block of just this size, so that a read beyond it is found by the sanitizer. */
    uint8_t *cut = malloc(length);
    memcpy(cut, bytes, length);
    lampar_pack *pack;
    assert_int_equal(lampar_pack_open_memory(cut, length, "cut", &pack), LAMPAR_ERROR_PACK);
    free(cut);
  }
  free(bytes);
}

/* A writer that is wrong seals nonsense with a right digest: refused, whatever field it is. */
static void survives_any_sealed_byte(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  const size_t described = sizeof(lampar_pack_header) + COUNT * sizeof(lampar_pack_record);
  size_t refused = 0;
  for (size_t i = 0; i < described; ++i)
    for (int value = 0; value < 256; value += 51) {
      const uint8_t before = bytes[i];
      bytes[i] = (uint8_t)value;
      pack_fixture_seal(bytes, size);
      lampar_pack *pack;
      if (lampar_pack_open_memory(bytes, size, "sealed", &pack) != LAMPAR_OK) {
        ++refused;
      } else {
        for (size_t k = 0; k < lampar_pack_count(pack); ++k) {
          lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
          assert_int_equal(lampar_pack_info(pack, k, &info), LAMPAR_OK);
          const uint8_t *code = info.code;
          assert_true(code >= bytes && info.code_size <= (size_t)(bytes + size - code));
          assert_true(strlen(info.name) < LAMPAR_NAME_BYTES);
        }
        lampar_pack_close(pack);
      }
      bytes[i] = before;
    }
  assert_true(refused > 100);
  free(bytes);
}

static void names_a_newer_format(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  ((lampar_pack_header *)bytes)->format = LAMPAR_PACK_FORMAT + 1;
  pack_fixture_seal(bytes, size);
  lampar_pack *pack;
  assert_int_equal(lampar_pack_open_memory(bytes, size, "new.pack", &pack), LAMPAR_ERROR_VERSION);
  assert_string_equal(lampar_last_error(), "new.pack: pack format 3, this lampar reads format 2: "
                                           "build the pack again with this version");
  free(bytes);
}

static void refuses_kernels_out_of_order(void **state) {
  (void)state;
  size_t size;
  const lampar_variant turned[] = {kernels[1], kernels[0]};
  uint8_t *bytes = pack_fixture(turned, sizeof turned / sizeof turned[0], &size);
  lampar_pack *pack;
  assert_int_equal(lampar_pack_open_memory(bytes, size, "turned", &pack), LAMPAR_ERROR_PACK);
  free(bytes);
}

static void opens_files(void **state) {
  (void)state;
  size_t size;
  uint8_t *bytes = pack_fixture(kernels, COUNT, &size);
  char path[] = "/tmp/lampar-pack-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  lampar_pack *pack;
  assert_int_equal(lampar_pack_open(path, &pack), LAMPAR_ERROR_PACK); /* empty */
  assert_int_equal(write(file, bytes, size), (ssize_t)size);
  assert_int_equal(lampar_pack_open(path, &pack), LAMPAR_OK);
  assert_int_equal(lampar_pack_count(pack), COUNT);
  lampar_pack_close(pack);
  close(file);
  unlink(path);
  assert_int_equal(lampar_pack_open(path, &pack), LAMPAR_ERROR_SYSTEM);
  assert_non_null(strstr(lampar_last_error(), path));
  assert_int_equal(lampar_pack_open("/", &pack), LAMPAR_ERROR_SYSTEM);
  free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_what_is_whole),
      cmocka_unit_test(writes_only_what_the_caller_has_room_for),
      cmocka_unit_test(describes_every_field),
      cmocka_unit_test(refuses_any_flipped_bit),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(survives_any_sealed_byte),
      cmocka_unit_test(names_a_newer_format),
      cmocka_unit_test(refuses_kernels_out_of_order),
      cmocka_unit_test(opens_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
