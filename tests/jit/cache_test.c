/* The cache on its own: whatever lies in a folder, a kernel is found whole or not at all, and what
 * is wrong is one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache/cache_place.h"
#include "cache_fixture.h"

enum { NOBODY = 65534, HEADER_FORMAT_AT = 8, FULL_KERNELS = 400 };

static void says(const cache_fixture *fixture, const char *part) {
  assert_int_equal(fixture->warnings, 1);
  if (strstr(fixture->warning, part) == NULL) fail_msg("no '%s' in: %s", part, fixture->warning);
}

static char *read_whole(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 16);
  *size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static void write_whole(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* ---- entries ---- */

static void what_is_stored_is_found(void **state) {
  cache_fixture *const fixture = *state;
  assert_false(cache_fixture_has(fixture, 1));
  for (unsigned i = 0; i < 20; ++i) cache_fixture_store(fixture, i);
  for (unsigned i = 0; i < 20; ++i) assert_true(cache_fixture_has(fixture, i));
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  for (unsigned i = 0; i < 20; ++i) assert_true(cache_fixture_has(fixture, i));
  assert_false(cache_fixture_has(fixture, 20));
  assert_int_equal(fixture->warnings, 0);
}

static void another_build_is_taken_only_when_any_will_do(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  const lampar_cache_key key = cache_fixture_key(1), absent = cache_fixture_key(2);
  const uint8_t other[LAMPAR_DIGEST_BYTES] = {1};
  lampar_cache_code code;
  assert_false(lampar_cache_find(fixture->cache, &key, other, &code));
  assert_false(lampar_cache_find(fixture->cache, &absent, NULL, &code));
  assert_true(lampar_cache_find(fixture->cache, &key, NULL, &code));
  assert_memory_equal(code.build, cache_fixture_build, sizeof code.build);
  free(code.bytes);
  assert_int_equal(fixture->warnings, 0);
}

static void every_cut_is_a_miss(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_fixture_entry(fixture->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);
  for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
    write_whole(path, bytes, cut);
    fixture->warnings = 0;
    assert_false(cache_fixture_has(fixture, 1));
    says(fixture, "is truncated");
  }
  /* Stored once more, it is whole. */
  cache_fixture_store(fixture, 1);
  assert_true(cache_fixture_has(fixture, 1));
  free(bytes);
}

static void every_changed_byte_is_a_miss(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_fixture_entry(fixture->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);
  for (size_t at = 0; at < size; at += at < 200 ? 1 : 97) {
    bytes[at] ^= 0x10;
    write_whole(path, bytes, size);
    bytes[at] ^= 0x10;
    fixture->warnings = 0;
    assert_false(cache_fixture_has(fixture, 1));
    assert_int_equal(fixture->warnings, 1);
  }
  free(bytes);
}

static void swapped_entries_are_misses(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  cache_fixture_store(fixture, 2);
  char one[SCRATCH_PATH_BYTES], two[SCRATCH_PATH_BYTES], between[SCRATCH_PATH_BYTES];
  cache_fixture_entry(fixture->folder, 1, one);
  cache_fixture_entry(fixture->folder, 2, two);
  scratch_path(&fixture->scratch, "between", between);
  assert_int_equal(rename(one, between), 0);
  assert_int_equal(rename(two, one), 0);
  assert_int_equal(rename(between, two), 0);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "holds another kernel");
  fixture->warnings = 0;
  assert_false(cache_fixture_has(fixture, 2));
  says(fixture, "holds another kernel");
}

static void foreign_files_are_misses(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_fixture_entry(fixture->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);

  write_whole(path, "", 0);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "is truncated");

  char garbage[3000];
  for (size_t i = 0; i < sizeof garbage; ++i) garbage[i] = (char)(i * i);
  fixture->warnings = 0;
  write_whole(path, garbage, sizeof garbage);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "is not a cache entry");

  fixture->warnings = 0;
  ++bytes[HEADER_FORMAT_AT];
  write_whole(path, bytes, size);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "has the format of another lampar");
  --bytes[HEADER_FORMAT_AT];
  free(bytes);

  fixture->warnings = 0;
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "is not a file");
  assert_int_equal(rmdir(path), 0);

  fixture->warnings = 0;
  assert_int_equal(symlink("/etc/passwd", path), 0);
  assert_false(cache_fixture_has(fixture, 1));
  assert_int_equal(fixture->warnings, 1);
}

/* ---- folders ---- */

static void read_only_folders_come_first_and_stay_as_they_are(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  char other[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES];
  scratch_path(&fixture->scratch, "other", other);
  const char *const image[] = {"/nowhere", fixture->folder};
  cache_fixture_reopen(fixture, image, 2, other);
  says(fixture, "/nowhere");
  assert_true(cache_fixture_has(fixture, 1));
  cache_fixture_store(fixture, 2);
  assert_true(cache_fixture_has(fixture, 2));
  cache_fixture_entry(fixture->folder, 2, path);
  assert_int_equal(access(path, F_OK), -1);
  cache_fixture_entry(other, 2, path);
  assert_int_equal(access(path, F_OK), 0);
}

static void no_folder_keeps_nothing(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_reopen(fixture, NULL, 0, "");
  cache_fixture_store(fixture, 1);
  assert_false(cache_fixture_has(fixture, 1));
  assert_null(lampar_cache_folder(fixture->cache));
  assert_int_equal(fixture->warnings, 0);
}

static void folders_of_others_are_refused(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  static const mode_t open_modes[] = {0777, 0770, 0702};
  for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; ++i) {
    assert_int_equal(chmod(fixture->folder, open_modes[i]), 0);
    cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
    says(fixture, "may be written by others");
    assert_false(cache_fixture_has(fixture, 1));
    assert_null(lampar_cache_folder(fixture->cache));
  }
  assert_int_equal(chmod(fixture->folder, 0700), 0);
  if (geteuid() == 0) { /* only root can give a folder away */
    assert_int_equal(chown(fixture->folder, NOBODY, NOBODY), 0);
    cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
    says(fixture, "belongs to another user");
    assert_false(cache_fixture_has(fixture, 1));
    assert_int_equal(chown(fixture->folder, 0, 0), 0);
  }
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  assert_true(cache_fixture_has(fixture, 1));

  char path[SCRATCH_PATH_BYTES];
  cache_fixture_entry(fixture->folder, 1, path);
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(cache_fixture_has(fixture, 1));
  says(fixture, "may be written by others");
}

/* Runs `body` in a process of its own; its exit status. */
static int in_a_process(void (*body)(cache_fixture *), cache_fixture *fixture) {
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    body(fixture);
    _exit(0);
  }
  int result;
  assert_int_equal(waitpid(process, &result, 0), process);
  assert_true(WIFEXITED(result));
  return WEXITSTATUS(result);
}

static void write_as_nobody(cache_fixture *fixture) {
  if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) _exit(1);
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  if (!cache_fixture_has(fixture, 1)) _exit(2);
  for (unsigned i = 2; i < 10; ++i) cache_fixture_store(fixture, i);
  if (fixture->warnings != 1 || strstr(fixture->warning, "cannot be written") == NULL) _exit(3);
  if (cache_fixture_has(fixture, 2)) _exit(4);
}

/* Root may write anywhere, so it becomes somebody else: the folder of an image that a service
 * reads.
 */
static void an_unwritable_folder_is_read_and_one_warning(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_store(fixture, 1);
  char path[SCRATCH_PATH_BYTES], command[SCRATCH_PATH_BYTES + 32];
  cache_fixture_entry(fixture->folder, 1, path);
  assert_int_equal(chmod(path, 0444), 0);
  snprintf(command, sizeof command, "chmod -R a-w,a+rX '%s'", fixture->scratch.folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(in_a_process(write_as_nobody, fixture), 0);
  snprintf(command, sizeof command, "chmod -R u+w '%s'", fixture->scratch.folder);
  assert_int_equal(system(command), 0);
}

/* What is there is whole: cache_fixture_has would fail otherwise, or warn. */
static void store_too_much(cache_fixture *fixture) {
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  unsigned whole = 0;
  for (unsigned i = 0; i < FULL_KERNELS; ++i) cache_fixture_store(fixture, i);
  if (fixture->warnings != 1 || strstr(fixture->warning, "cannot be written") == NULL) _exit(2);
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  for (unsigned i = 0; i < FULL_KERNELS; ++i) whole += cache_fixture_has(fixture, i);
  if (fixture->warnings != 0 || whole >= FULL_KERNELS) _exit(3);
}

enum { CANNOT_MOUNT = 77 };

static void fill_disk(cache_fixture *fixture) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", fixture->folder, "tmpfs", 0, "size=64k,mode=700") != 0)
    _exit(CANNOT_MOUNT);
  store_too_much(fixture);
}

static void fill_quota(cache_fixture *fixture) {
  const struct rlimit limit = {600, 600};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
  store_too_much(fixture);
}

static void a_full_disk_is_one_warning(void **state) {
  cache_fixture *const fixture = *state;
  const int result = in_a_process(fill_disk, fixture);
  if (result == CANNOT_MOUNT) print_message("a disk cannot be made here; a limit does for it\n");
  else assert_int_equal(result, 0);
  assert_int_equal(in_a_process(fill_quota, fixture), 0);
}

/* ---- where the folder is ---- */

static void place_is(const char *path, const char *source) {
  lampar_cache_place place;
  lampar_cache_place_find(&place);
  assert_string_equal(place.path, path);
  assert_string_equal(place.source, source);
}

static void the_environment_says_where(void **state) {
  (void)state;
  static const char *const names[] = {"LAMPAR_CACHE_DIR", "XDG_CACHE_HOME", "CACHE_DIRECTORY",
                                      "HOME"};
  char *kept[4] = {0};
  for (size_t i = 0; i < 4; ++i) {
    if (getenv(names[i]) != NULL) kept[i] = strdup(getenv(names[i]));
    unsetenv(names[i]);
  }
  place_is("", "no HOME");
  setenv("HOME", "", 1);
  place_is("", "no HOME");
  setenv("HOME", "/home/x", 1);
  place_is("/home/x/.cache/lampar", "HOME");
  setenv("CACHE_DIRECTORY", "/var/cache/a:/var/cache/b", 1);
  place_is("/var/cache/a", "CACHE_DIRECTORY");
  setenv("XDG_CACHE_HOME", "relative", 1);
  place_is("/var/cache/a", "CACHE_DIRECTORY");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  place_is("/xdg/lampar", "XDG_CACHE_HOME");
  setenv("LAMPAR_CACHE_DIR", "/mine", 1);
  place_is("/mine", "LAMPAR_CACHE_DIR");
  setenv("LAMPAR_CACHE_DIR", "", 1);
  place_is("", "LAMPAR_CACHE_DIR");
  for (size_t i = 0; i < 4; ++i) {
    if (kept[i] != NULL) setenv(names[i], kept[i], 1);
    else unsetenv(names[i]);
    free(kept[i]);
  }
}

/* ---- the lock ---- */

static void die_with_the_lock(cache_fixture *fixture) {
  cache_fixture_reopen(fixture, NULL, 0, fixture->folder);
  if (!lampar_cache_lock(fixture->cache)) _exit(1);
  kill(getpid(), SIGKILL);
}

static void one_cache_at_a_time_has_the_lock(void **state) {
  cache_fixture *const fixture = *state;
  lampar_cache *other;
  for (int round = 0; round < 2; ++round) {
    assert_int_equal(lampar_cache_open(NULL, 0, fixture->folder, &fixture->logger, &other),
                     LAMPAR_OK);
    assert_true(lampar_cache_lock(other));
    assert_true(lampar_cache_lock(other));
    assert_false(lampar_cache_lock(fixture->cache));
    if (round == 0) lampar_cache_unlock(other);
    else lampar_cache_close(other);
    assert_true(lampar_cache_lock(fixture->cache));
    lampar_cache_unlock(fixture->cache);
    if (round == 0) lampar_cache_close(other);
  }
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) die_with_the_lock(fixture);
  int result;
  assert_int_equal(waitpid(process, &result, 0), process);
  assert_true(WIFSIGNALED(result));
  assert_true(lampar_cache_lock(fixture->cache));
  assert_int_equal(fixture->warnings, 0);
}

static void without_a_folder_nobody_waits_for_a_lock(void **state) {
  cache_fixture *const fixture = *state;
  cache_fixture_reopen(fixture, NULL, 0, "");
  assert_true(lampar_cache_lock(fixture->cache));
  lampar_cache_unlock(fixture->cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cache_fixture_test(what_is_stored_is_found),
      cache_fixture_test(another_build_is_taken_only_when_any_will_do),
      cache_fixture_test(every_cut_is_a_miss),
      cache_fixture_test(every_changed_byte_is_a_miss),
      cache_fixture_test(swapped_entries_are_misses),
      cache_fixture_test(foreign_files_are_misses),
      cache_fixture_test(read_only_folders_come_first_and_stay_as_they_are),
      cache_fixture_test(no_folder_keeps_nothing),
      cache_fixture_test(folders_of_others_are_refused),
      cache_fixture_test(an_unwritable_folder_is_read_and_one_warning),
      cache_fixture_test(a_full_disk_is_one_warning),
      cmocka_unit_test(the_environment_says_where),
      cache_fixture_test(one_cache_at_a_time_has_the_lock),
      cache_fixture_test(without_a_folder_nobody_waits_for_a_lock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
