/* The groups of the process: which one a creation finds, and that it cannot be freed meanwhile. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "group/registry.h"

enum { THREADS = 6, ROUNDS = 3000, MARK = 0x5a };

static lampar_group *group_of(int rank, lampar_role role, uint8_t options, uint8_t packs) {
  lampar_group *group = calloc(1, sizeof *group);
  assert_non_null(group);
  memset(group->identity, MARK, sizeof group->identity);
  group->rank = rank;
  group->config.role = role;
  group->options[0] = options;
  group->facts[rank].packs[0] = packs;
  return group;
}

/* What a creation with these values finds; its reference is dropped. */
static lampar_registry_answer look(int rank, lampar_role role, uint8_t options, uint8_t packs,
                                   const lampar_group *expected) {
  lampar_group *like = group_of(rank, role, options, packs), *found;
  const lampar_registry_answer answer = lampar_registry_find(like, &found);
  assert_ptr_equal(found, expected);
  if (found != NULL) assert_false(lampar_registry_release(found));
  free(like);
  return answer;
}

static void finds_the_group_of_equal_config(void **state) {
  (void)state;
  lampar_group *dense = group_of(1, LAMPAR_ROLE_DENSE, 7, 8);
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 7, 8, NULL), LAMPAR_REGISTRY_NONE);
  lampar_registry_add(dense);
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 7, 8, dense), LAMPAR_REGISTRY_EQUAL);
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 6, 8, NULL), LAMPAR_REGISTRY_DIFFERENT);
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 7, 9, NULL), LAMPAR_REGISTRY_DIFFERENT);
  assert_int_equal(look(0, LAMPAR_ROLE_DENSE, 7, 8, NULL), LAMPAR_REGISTRY_NONE);
  assert_int_equal(look(1, LAMPAR_ROLE_MOE, 7, 8, NULL), LAMPAR_REGISTRY_NONE);

  lampar_group *moe = group_of(1, LAMPAR_ROLE_MOE, 7, 8);
  lampar_registry_add(moe);
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 7, 8, dense), LAMPAR_REGISTRY_EQUAL);
  assert_int_equal(look(1, LAMPAR_ROLE_MOE, 7, 8, moe), LAMPAR_REGISTRY_EQUAL);
  assert_true(lampar_registry_release(moe));
  assert_true(lampar_registry_release(dense));
  assert_int_equal(look(1, LAMPAR_ROLE_DENSE, 7, 8, NULL), LAMPAR_REGISTRY_NONE);
  free(moe);
  free(dense);
}

static void numbers_differ(void **state) {
  (void)state;
  const uint64_t first = lampar_registry_number();
  assert_int_not_equal(first, 0);
  assert_int_not_equal(lampar_registry_number(), first);
}

/* Creates and destroys the same group again and again, as threads of an engine with two
 * communicators do. The group that is found is looked at and freed by whoever holds the last
 * reference. */
static void *create_and_destroy(void *user) {
  int *wrong = user;
  for (int i = 0; i < ROUNDS; ++i) {
    lampar_group *own = group_of(0, LAMPAR_ROLE_DENSE, 1, 1), *found;
    if (lampar_registry_find(own, &found) == LAMPAR_REGISTRY_EQUAL) {
      free(own);
    } else {
      found = own;
      lampar_registry_add(found);
    }
    *wrong += found->identity[0] != MARK || found->options[0] != 1;
    if (!lampar_registry_release(found)) continue;
    memset(found, 0, sizeof *found);
    free(found);
  }
  return NULL;
}

static void references_keep_a_group_alive(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  int wrong[THREADS] = {0};
  for (int t = 0; t < THREADS; ++t)
    assert_int_equal(pthread_create(&threads[t], NULL, create_and_destroy, &wrong[t]), 0);
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    assert_int_equal(wrong[t], 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_group_of_equal_config),
      cmocka_unit_test(numbers_differ),
      cmocka_unit_test(references_keep_a_group_alive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
