/* Many processes on one folder, and processes that are killed while they write: every kernel that
 * is found is whole, and nobody waits for the dead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache_lab.h"

enum { PROCESSES = 200, KERNELS = 40, KILLS = 300 };

/* What a start-up does: each kernel found, or claimed and kept, in an order of its own. */
static void start_up(cache_lab *lab, unsigned number) {
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  for (unsigned i = 0; i < KERNELS; ++i) {
    const unsigned kernel = (i * 7 + number * 13) % KERNELS;
    if (cache_lab_has(lab, kernel)) continue;
    const lampar_cache_key key = cache_lab_key(kernel);
    lampar_cache_claim(lab->cache, &key, cache_lab_build);
    cache_lab_store(lab, kernel);
    lampar_cache_unclaim(lab->cache, &key, cache_lab_build);
    if (!cache_lab_has(lab, kernel)) _exit(1);
  }
  _exit(lab->warnings == 0 ? 0 : 2);
}

static void two_hundred_processes_at_once(void **state) {
  cache_lab *const lab = *state;
  int gate[2];
  assert_int_equal(pipe(gate), 0);
  for (unsigned i = 0; i < PROCESSES; ++i) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0) continue;
    char unused;
    close(gate[1]);
    if (read(gate[0], &unused, 1) != 0) _exit(3); /* all begin when the gate is closed */
    start_up(lab, i);
  }
  close(gate[0]);
  close(gate[1]);
  for (unsigned i = 0; i < PROCESSES; ++i) {
    int result;
    assert_true(wait(&result) > 0);
    assert_int_equal(result, 0);
  }
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  for (unsigned i = 0; i < KERNELS; ++i) assert_true(cache_lab_has(lab, i));
  assert_int_equal(lab->warnings, 0);
}

static void write_for_ever(cache_lab *lab, unsigned seed) {
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  for (unsigned i = seed;; ++i) cache_lab_store(lab, i % KERNELS);
}

static void killed_processes_leave_whole_entries(void **state) {
  cache_lab *const lab = *state;
  unsigned seed = 12345, found = 0;
  for (unsigned kill_number = 0; kill_number < KILLS; ++kill_number) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) write_for_ever(lab, kill_number);
    seed = seed * 1103515245u + 12345u;
    nanosleep(&(struct timespec){.tv_nsec = (long)(seed >> 8) % 4000000}, NULL);
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    for (unsigned i = 0; i < KERNELS; ++i) found += cache_lab_has(lab, i);
    assert_int_equal(lab->warnings, 0); /* whole or absent, never anything else */
  }
  assert_true(found > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cache_lab_test(two_hundred_processes_at_once),
      cache_lab_test(killed_processes_leave_whole_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
