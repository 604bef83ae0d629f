/* A cache in a scratch folder, with made-up kernels and a log that is counted. Failures end the
 * test. */
#ifndef LAMPAR_TEST_CACHE_FIXTURE_H
#define LAMPAR_TEST_CACHE_FIXTURE_H

#include "cache/cache.h"
#include "scratch.h"

typedef struct cache_fixture {
  scratch scratch;
  char folder[SCRATCH_PATH_BYTES]; /* of the cache; not made yet */
  lampar_logger logger;
  lampar_cache *cache;
  int warnings;
  char warning[1200]; /* the last */
} cache_fixture;

/* A cache_fixture is the test's state: a cache that is written to scratch.folder/cache. */
#define cache_fixture_test(test)                                                                   \
  cmocka_unit_test_setup_teardown(test, cache_fixture_setup, cache_fixture_teardown)
int cache_fixture_setup(void **state);
int cache_fixture_teardown(void **state);

/* Closes the cache and opens it again, with folders to read only, and `write_folder` as
 * lampar_cache_open takes it. The count of warnings starts again. */
void cache_fixture_reopen(cache_fixture *fixture, const char *const *read_folders, size_t count,
                          const char *write_folder);

/* The key of made-up kernel `number`, and its code: `number` bytes more than 1000. */
lampar_cache_key cache_fixture_key(unsigned number);
lampar_cache_code cache_fixture_code(unsigned number);

extern const uint8_t cache_fixture_build[LAMPAR_DIGEST_BYTES];

void cache_fixture_store(cache_fixture *fixture, unsigned number);

/* Whether the cache has it; its bytes must be right. */
bool cache_fixture_has(cache_fixture *fixture, unsigned number);

/* The path of the only entry of kernel `number` below `folder`. */
void cache_fixture_entry(const char *folder, unsigned number, char path[SCRATCH_PATH_BYTES]);

#endif
