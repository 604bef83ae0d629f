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

#include "cache_fixture.h"

enum { PROCESSES = 200, KERNELS = 40, KILLS = 300 };

/* What a start-up does: each kernel found, or stored, in an order of its own. */
static void start_up(cache_fixture *fixture, unsigned number) {
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  for (unsigned i = 0; i < KERNELS; ++i) {
    const unsigned kernel = (i * 7 + number * 13) % KERNELS;
    if (cache_fixture_has(fixture, kernel)) continue;
    cache_fixture_store(fixture, kernel);
    if (!cache_fixture_has(fixture, kernel)) _exit(1);
  }
  _exit(fixture->warnings == 0 ? 0 : 2);
}

static void two_hundred_processes_at_once(void **state) {
  cache_fixture *const fixture = *state;
  int gate[2];
  assert_int_equal(pipe(gate), 0);
  for (unsigned i = 0; i < PROCESSES; ++i) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0) continue;
    char unused;
    close(gate[1]);
    if (read(gate[0], &unused, 1) != 0) _exit(3); /* all begin when the gate is closed */
    start_up(fixture, i);
  }
  close(gate[0]);
  close(gate[1]);
  for (unsigned i = 0; i < PROCESSES; ++i) {
    int result;
    assert_true(wait(&result) > 0);
    assert_int_equal(result, 0);
  }
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  for (unsigned i = 0; i < KERNELS; ++i) assert_true(cache_fixture_has(fixture, i));
  assert_int_equal(fixture->warnings, 0);
}

static void write_for_ever(cache_fixture *fixture, unsigned seed) {
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  for (unsigned i = seed;; ++i) cache_fixture_store(fixture, i % KERNELS);
}

static void killed_processes_leave_whole_entries(void **state) {
  cache_fixture *const fixture = *state;
  unsigned seed = 12345, found = 0;
  for (unsigned kill_number = 0; kill_number < KILLS; ++kill_number) {
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) write_for_ever(fixture, kill_number);
    seed = seed * 1103515245u + 12345u;
    nanosleep(&(struct timespec){.tv_nsec = (long)(seed >> 8) % 4000000}, NULL);
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    for (unsigned i = 0; i < KERNELS; ++i) found += cache_fixture_has(fixture, i);
    assert_int_equal(fixture->warnings, 0); /* whole or absent, never anything else */
  }
  assert_true(found > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cache_fixture_test(two_hundred_processes_at_once),
      cache_fixture_test(killed_processes_leave_whole_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
