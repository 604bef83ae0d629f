#include "cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

const uint8_t cache_fixture_build[LAMPAR_DIGEST_BYTES] = {0xb1, 0x1d};

static void count(void *user, lampar_log_level level, const char *line) {
  cache_fixture *const fixture = user;
  if (level != LAMPAR_LOG_WARN) return;
  ++fixture->warnings;
  snprintf(fixture->warning, sizeof fixture->warning, "%s", line);
}

int cache_fixture_setup(void **state) {
  cache_fixture *const fixture = *state = calloc(1, sizeof *fixture);
  if (fixture == NULL) return -1;
  *fixture = (cache_fixture){.logger = {.function = count, .user = fixture}};
  scratch_open(&fixture->scratch);
  scratch_path(&fixture->scratch, "cache", fixture->folder);
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  return 0;
}

void cache_fixture_reopen(cache_fixture *fixture, const char *const *read_folders,
                          size_t read_count, const char *write_folder) {
  lampar_cache_close(fixture->cache);
  fixture->warnings = 0;
  fixture->warning[0] = '\0';
  assert_int_equal(
      lampar_cache_open(read_folders, read_count, write_folder, &fixture->logger, &fixture->cache),
      LAMPAR_OK);
}

int cache_fixture_teardown(void **state) {
  cache_fixture *const fixture = *state;
  lampar_cache_close(fixture->cache);
  scratch_close(&fixture->scratch);
  free(fixture);
  return 0;
}

lampar_cache_key cache_fixture_key(unsigned number) {
  const lampar_variant variant = {.arch = 90,
                                  .world = 2,
                                  .dtype = LAMPAR_BF16,
                                  .hidden = 8 * (number + 1),
                                  .max_rows = 1,
                                  .persistent = 1,
                                  .threads = 32};
  char source[32];
  lampar_cache_key key;
  snprintf(source, sizeof source, "kernel %u", number);
  lampar_cache_key_make(&variant, source, &key);
  return key;
}

lampar_cache_code cache_fixture_code(unsigned number) {
  lampar_cache_code code = {.size = 1000 + number};
  code.bytes = malloc(code.size);
  assert_non_null(code.bytes);
  for (size_t i = 0; i < code.size; ++i) code.bytes[i] = (char)(number * 31 + i * 7);
  memcpy(code.build, cache_fixture_build, sizeof code.build);
  return code;
}

void cache_fixture_store(cache_fixture *fixture, unsigned number) {
  const lampar_cache_key key = cache_fixture_key(number);
  lampar_cache_code code = cache_fixture_code(number);
  lampar_cache_store(fixture->cache, &key, &code);
  free(code.bytes);
}

bool cache_fixture_has(cache_fixture *fixture, unsigned number) {
  const lampar_cache_key key = cache_fixture_key(number);
  lampar_cache_code expected = cache_fixture_code(number), found = {0};
  const bool has = lampar_cache_find(fixture->cache, &key, cache_fixture_build, &found);
  if (has) {
    assert_int_equal(found.size, expected.size);
    assert_memory_equal(found.bytes, expected.bytes, expected.size);
    assert_memory_equal(found.build, cache_fixture_build, sizeof found.build);
  }
  free(found.bytes);
  free(expected.bytes);
  return has;
}

void cache_fixture_entry(const char *folder, unsigned number, char path[SCRATCH_PATH_BYTES]) {
  const lampar_cache_key key = cache_fixture_key(number);
  char key_hex[LAMPAR_DIGEST_HEX], build_hex[LAMPAR_DIGEST_HEX];
  lampar_digest_hex(key.digest, key_hex);
  lampar_digest_hex(cache_fixture_build, build_hex);
  snprintf(path, SCRATCH_PATH_BYTES, "%.300s/v1/%.2s/%s-%s", folder, key_hex, key_hex, build_hex);
}
