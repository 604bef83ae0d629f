#include "cache_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

const uint8_t cache_lab_build[LAMPAR_DIGEST_BYTES] = {0xb1, 0x1d};

static void count(void *user, lampar_log_level level, const char *line) {
  cache_lab *const lab = user;
  if (level != LAMPAR_LOG_WARN) return;
  ++lab->warnings;
  snprintf(lab->warning, sizeof lab->warning, "%s", line);
}

int cache_lab_setup(void **state) {
  cache_lab *const lab = *state = calloc(1, sizeof *lab);
  if (lab == NULL) return -1;
  *lab = (cache_lab){.logger = {.function = count, .user = lab}};
  scratch_open(&lab->scratch);
  scratch_path(&lab->scratch, "cache", lab->folder);
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  return 0;
}

void cache_lab_reopen(cache_lab *lab, const char *const *read_folders, size_t read_count,
                      const char *write_folder) {
  lampar_cache_close(lab->cache);
  lab->warnings = 0;
  lab->warning[0] = '\0';
  assert_int_equal(
      lampar_cache_open(read_folders, read_count, write_folder, &lab->logger, &lab->cache),
      LAMPAR_OK);
}

int cache_lab_teardown(void **state) {
  cache_lab *const lab = *state;
  lampar_cache_close(lab->cache);
  scratch_close(&lab->scratch);
  free(lab);
  return 0;
}

lampar_cache_key cache_lab_key(unsigned number) {
  const lampar_variant variant = {.arch = 90,
                                  .world = 2,
                                  .dtype = LAMPAR_BF16,
                                  .hidden = 8 * (number + 1),
                                  .rows_limit = 1,
                                  .looping = 1,
                                  .threads = 32};
  char source[32];
  lampar_cache_key key;
  snprintf(source, sizeof source, "kernel %u", number);
  lampar_cache_key_make(&variant, source, &key);
  return key;
}

lampar_cache_code cache_lab_code(unsigned number) {
  lampar_cache_code code = {.size = 1000 + number};
  code.bytes = malloc(code.size);
  assert_non_null(code.bytes);
  for (size_t i = 0; i < code.size; ++i) code.bytes[i] = (char)(number * 31 + i * 7);
  memcpy(code.build, cache_lab_build, sizeof code.build);
  return code;
}

void cache_lab_store(cache_lab *lab, unsigned number) {
  const lampar_cache_key key = cache_lab_key(number);
  lampar_cache_code code = cache_lab_code(number);
  lampar_cache_store(lab->cache, &key, &code);
  free(code.bytes);
}

bool cache_lab_has(cache_lab *lab, unsigned number) {
  const lampar_cache_key key = cache_lab_key(number);
  lampar_cache_code expected = cache_lab_code(number), found = {0};
  const bool has = lampar_cache_find(lab->cache, &key, cache_lab_build, &found);
  if (has) {
    assert_int_equal(found.size, expected.size);
    assert_memory_equal(found.bytes, expected.bytes, expected.size);
    assert_memory_equal(found.build, cache_lab_build, sizeof found.build);
  }
  free(found.bytes);
  free(expected.bytes);
  return has;
}

void cache_lab_entry(const char *folder, unsigned number, char path[SCRATCH_PATH_BYTES]) {
  const lampar_cache_key key = cache_lab_key(number);
  char key_hex[LAMPAR_DIGEST_HEX], build_hex[LAMPAR_DIGEST_HEX];
  lampar_digest_hex(key.digest, key_hex);
  lampar_digest_hex(cache_lab_build, build_hex);
  snprintf(path, SCRATCH_PATH_BYTES, "%.300s/v1/%.2s/%s-%s", folder, key_hex, key_hex, build_hex);
}
