#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lampar/lampar.h"

enum { WORLD = 5, ROUNDS = 200 };

typedef struct worker {
  const lampar_exchange *exchange;
  int wrong;
} worker;

static void *gather_often(void *user) {
  worker *w = user;
  for (int round = 0; round < ROUNDS; ++round) {
    const int mine = round * 100 + w->exchange->rank;
    int all[WORLD];
    if (w->exchange->all_gather(w->exchange->user, &mine, all, sizeof mine) != 0) ++w->wrong;
    for (int r = 0; r < WORLD; ++r) w->wrong += all[r] != round * 100 + r;
  }
  return NULL;
}

static void gathers_in_rank_order(void **state) {
  (void)state;
  lampar_local_exchange *local;
  assert_int_equal(lampar_local_exchange_create(WORLD, 10000, &local), LAMPAR_OK);
  pthread_t threads[WORLD];
  worker workers[WORLD];
  for (int r = 0; r < WORLD; ++r) {
    workers[r] = (worker){.exchange = lampar_local_exchange_rank(local, r)};
    assert_int_equal(workers[r].exchange->rank, r);
    assert_int_equal(workers[r].exchange->world, WORLD);
    pthread_create(&threads[r], NULL, gather_often, &workers[r]);
  }
  for (int r = 0; r < WORLD; ++r) {
    pthread_join(threads[r], NULL);
    assert_int_equal(workers[r].wrong, 0);
  }
  lampar_local_exchange_destroy(local);
}

/* One who waits alone gets an error, and so does one who comes later. */
static void does_not_wait_for_ever(void **state) {
  (void)state;
  lampar_local_exchange *local;
  assert_int_equal(lampar_local_exchange_create(2, 20, &local), LAMPAR_OK);
  int mine = 0, all[2];
  for (int r = 0; r < 2; ++r) {
    const lampar_exchange *exchange = lampar_local_exchange_rank(local, r);
    assert_int_not_equal(exchange->all_gather(exchange->user, &mine, all, sizeof mine), 0);
  }
  lampar_local_exchange_destroy(local);
}

static void refuses_what_it_cannot_be(void **state) {
  (void)state;
  lampar_local_exchange *local;
  assert_int_equal(lampar_local_exchange_create(0, 10, &local), LAMPAR_ERROR_ARGUMENT);
  assert_int_equal(lampar_local_exchange_create(17, 10, &local), LAMPAR_ERROR_ARGUMENT);
  assert_int_equal(lampar_local_exchange_create(2, 0, &local), LAMPAR_ERROR_ARGUMENT);
  assert_null(lampar_local_exchange_rank(NULL, 0));
  assert_int_equal(lampar_local_exchange_create(2, 10, &local), LAMPAR_OK);
  assert_null(lampar_local_exchange_rank(local, -1));
  assert_null(lampar_local_exchange_rank(local, 2));
  lampar_local_exchange_destroy(local);
  lampar_local_exchange_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gathers_in_rank_order),
      cmocka_unit_test(does_not_wait_for_ever),
      cmocka_unit_test(refuses_what_it_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
