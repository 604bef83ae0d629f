/* The cache on its own: whatever lies in a folder, a kernel is found whole or not at all, and what
 * is wrong is one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cache_lab.h"
#include "cache_place.h"

enum { NOBODY = 65534, HEADER_FORMAT_AT = 8, FULL_KERNELS = 400 };

static void says(const cache_lab *lab, const char *part) {
  assert_int_equal(lab->warnings, 1);
  if (strstr(lab->warning, part) == NULL) fail_msg("no '%s' in: %s", part, lab->warning);
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
  cache_lab *const lab = *state;
  assert_false(cache_lab_has(lab, 1));
  for (unsigned i = 0; i < 20; ++i) cache_lab_store(lab, i);
  for (unsigned i = 0; i < 20; ++i) assert_true(cache_lab_has(lab, i));
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  for (unsigned i = 0; i < 20; ++i) assert_true(cache_lab_has(lab, i));
  assert_false(cache_lab_has(lab, 20));
  assert_int_equal(lab->warnings, 0);
}

static void another_build_is_taken_only_when_any_will_do(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  const lampar_cache_key key = cache_lab_key(1), absent = cache_lab_key(2);
  const uint8_t other[LAMPAR_DIGEST_BYTES] = {1};
  lampar_cache_code code;
  assert_false(lampar_cache_find(lab->cache, &key, other, &code));
  assert_false(lampar_cache_find(lab->cache, &absent, NULL, &code));
  assert_true(lampar_cache_find(lab->cache, &key, NULL, &code));
  assert_memory_equal(code.build, cache_lab_build, sizeof code.build);
  free(code.bytes);
  assert_int_equal(lab->warnings, 0);
}

static void every_cut_is_a_miss(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);
  for (size_t cut = 0; cut < size; cut += cut < 200 ? 1 : 97) {
    write_whole(path, bytes, cut);
    lab->warnings = 0;
    assert_false(cache_lab_has(lab, 1));
    says(lab, "is truncated");
  }
  /* It is made again, and then it is whole. */
  cache_lab_store(lab, 1);
  assert_true(cache_lab_has(lab, 1));
  free(bytes);
}

static void every_changed_byte_is_a_miss(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);
  for (size_t at = 0; at < size; at += at < 200 ? 1 : 97) {
    bytes[at] ^= 0x10;
    write_whole(path, bytes, size);
    bytes[at] ^= 0x10;
    lab->warnings = 0;
    assert_false(cache_lab_has(lab, 1));
    assert_int_equal(lab->warnings, 1);
  }
  free(bytes);
}

static void swapped_entries_are_misses(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  cache_lab_store(lab, 2);
  char one[SCRATCH_PATH_BYTES], two[SCRATCH_PATH_BYTES], between[SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, one);
  cache_lab_entry(lab->folder, 2, two);
  scratch_path(&lab->scratch, "between", between);
  assert_int_equal(rename(one, between), 0);
  assert_int_equal(rename(two, one), 0);
  assert_int_equal(rename(between, two), 0);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "holds another kernel");
  lab->warnings = 0;
  assert_false(cache_lab_has(lab, 2));
  says(lab, "holds another kernel");
}

static void foreign_files_are_misses(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  char path[SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, path);
  size_t size;
  char *bytes = read_whole(path, &size);

  write_whole(path, "", 0);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "is truncated");

  char garbage[3000];
  for (size_t i = 0; i < sizeof garbage; ++i) garbage[i] = (char)(i * i);
  lab->warnings = 0;
  write_whole(path, garbage, sizeof garbage);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "is not a cache entry");

  lab->warnings = 0;
  ++bytes[HEADER_FORMAT_AT];
  write_whole(path, bytes, size);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "has the format of another lampar");
  --bytes[HEADER_FORMAT_AT];
  free(bytes);

  lab->warnings = 0;
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "is not a file");
  assert_int_equal(rmdir(path), 0);

  lab->warnings = 0;
  assert_int_equal(symlink("/etc/passwd", path), 0);
  assert_false(cache_lab_has(lab, 1));
  assert_int_equal(lab->warnings, 1);
}

/* ---- folders ---- */

static void read_only_folders_come_first_and_stay_as_they_are(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  char other[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES];
  scratch_path(&lab->scratch, "other", other);
  const char *const image[] = {"/nowhere", lab->folder};
  cache_lab_reopen(lab, image, 2, other);
  says(lab, "/nowhere");
  assert_true(cache_lab_has(lab, 1));
  cache_lab_store(lab, 2);
  assert_true(cache_lab_has(lab, 2));
  cache_lab_entry(lab->folder, 2, path);
  assert_int_equal(access(path, F_OK), -1);
  cache_lab_entry(other, 2, path);
  assert_int_equal(access(path, F_OK), 0);
}

static void no_folder_keeps_nothing(void **state) {
  cache_lab *const lab = *state;
  cache_lab_reopen(lab, NULL, 0, "");
  cache_lab_store(lab, 1);
  assert_false(cache_lab_has(lab, 1));
  assert_null(lampar_cache_folder(lab->cache));
  assert_int_equal(lab->warnings, 0);
}

static void folders_of_others_are_refused(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  static const mode_t open_modes[] = {0777, 0770, 0702};
  for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; ++i) {
    assert_int_equal(chmod(lab->folder, open_modes[i]), 0);
    cache_lab_reopen(lab, NULL, 0, lab->folder);
    says(lab, "may be written by others");
    assert_false(cache_lab_has(lab, 1));
    assert_null(lampar_cache_folder(lab->cache));
  }
  assert_int_equal(chmod(lab->folder, 0700), 0);
  if (geteuid() == 0) { /* only root can give a folder away */
    assert_int_equal(chown(lab->folder, NOBODY, NOBODY), 0);
    cache_lab_reopen(lab, NULL, 0, lab->folder);
    says(lab, "belongs to another user");
    assert_false(cache_lab_has(lab, 1));
    assert_int_equal(chown(lab->folder, 0, 0), 0);
  }
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  assert_true(cache_lab_has(lab, 1));

  char path[SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, path);
  assert_int_equal(chmod(path, 0666), 0);
  assert_false(cache_lab_has(lab, 1));
  says(lab, "may be written by others");
}

/* Runs `body` in a process of its own; its exit status. */
static int in_a_process(void (*body)(cache_lab *), cache_lab *lab) {
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    body(lab);
    _exit(0);
  }
  int result;
  assert_int_equal(waitpid(process, &result, 0), process);
  assert_true(WIFEXITED(result));
  return WEXITSTATUS(result);
}

static void write_as_nobody(cache_lab *lab) {
  if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) _exit(1);
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  if (!cache_lab_has(lab, 1)) _exit(2);
  for (unsigned i = 2; i < 10; ++i) cache_lab_store(lab, i);
  if (lab->warnings != 1 || strstr(lab->warning, "cannot be written") == NULL) _exit(3);
  if (cache_lab_has(lab, 2)) _exit(4);
}

/* Root may write anywhere, so it becomes somebody else: the folder of an image that a service
 * reads.
 */
static void an_unwritable_folder_is_read_and_one_warning(void **state) {
  cache_lab *const lab = *state;
  cache_lab_store(lab, 1);
  char path[SCRATCH_PATH_BYTES], command[SCRATCH_PATH_BYTES + 32];
  cache_lab_entry(lab->folder, 1, path);
  assert_int_equal(chmod(path, 0444), 0);
  snprintf(command, sizeof command, "chmod -R a-w,a+rX '%s'", lab->scratch.folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(in_a_process(write_as_nobody, lab), 0);
  snprintf(command, sizeof command, "chmod -R u+w '%s'", lab->scratch.folder);
  assert_int_equal(system(command), 0);
}

/* What is there is whole: cache_lab_has would fail otherwise, or warn. */
static void store_too_much(cache_lab *lab) {
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  unsigned whole = 0;
  for (unsigned i = 0; i < FULL_KERNELS; ++i) cache_lab_store(lab, i);
  if (lab->warnings != 1 || strstr(lab->warning, "cannot be written") == NULL) _exit(2);
  cache_lab_reopen(lab, NULL, 0, lab->folder);
  for (unsigned i = 0; i < FULL_KERNELS; ++i) whole += cache_lab_has(lab, i);
  if (lab->warnings != 0 || whole >= FULL_KERNELS) _exit(3);
}

enum { CANNOT_MOUNT = 77 };

static void fill_disk(cache_lab *lab) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("none", lab->folder, "tmpfs", 0, "size=64k,mode=700") != 0)
    _exit(CANNOT_MOUNT);
  store_too_much(lab);
}

static void fill_quota(cache_lab *lab) {
  const struct rlimit limit = {600, 600};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
  store_too_much(lab);
}

static void a_full_disk_is_one_warning(void **state) {
  cache_lab *const lab = *state;
  const int result = in_a_process(fill_disk, lab);
  if (result == CANNOT_MOUNT) print_message("a disk cannot be made here; a limit does for it\n");
  else assert_int_equal(result, 0);
  assert_int_equal(in_a_process(fill_quota, lab), 0);
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

/* ---- claims ---- */

static void a_claim_is_the_first_one_s(void **state) {
  cache_lab *const lab = *state;
  const lampar_cache_key key = cache_lab_key(1);
  assert_true(lampar_cache_claim(lab->cache, &key, cache_lab_build));
  assert_false(lampar_cache_claim(lab->cache, &key, cache_lab_build));
  lampar_cache_unclaim(lab->cache, &key, cache_lab_build);
  assert_true(lampar_cache_claim(lab->cache, &key, cache_lab_build));

  /* Of a process that died long ago, or of a machine whose clock is wrong. */
  char entry[SCRATCH_PATH_BYTES], claim[2 * SCRATCH_PATH_BYTES];
  cache_lab_entry(lab->folder, 1, entry);
  snprintf(claim, sizeof claim, "%s/v1/claims/%s", lab->folder, strrchr(entry, '/') + 1);
  struct timespec times[2];
  for (int away = -100; away <= 100; away += 200) {
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec += away;
    times[1] = times[0];
    assert_int_equal(lampar_cache_claims(lab->cache), 1);
    assert_int_equal(utimensat(AT_FDCWD, claim, times, 0), 0);
    assert_int_equal(lampar_cache_claims(lab->cache), 0);
    assert_true(lampar_cache_claim(lab->cache, &key, cache_lab_build));
    assert_false(lampar_cache_claim(lab->cache, &key, cache_lab_build)); /* taken over by one */
  }
  assert_int_equal(lab->warnings, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cache_lab_test(what_is_stored_is_found),
      cache_lab_test(another_build_is_taken_only_when_any_will_do),
      cache_lab_test(every_cut_is_a_miss),
      cache_lab_test(every_changed_byte_is_a_miss),
      cache_lab_test(swapped_entries_are_misses),
      cache_lab_test(foreign_files_are_misses),
      cache_lab_test(read_only_folders_come_first_and_stay_as_they_are),
      cache_lab_test(no_folder_keeps_nothing),
      cache_lab_test(folders_of_others_are_refused),
      cache_lab_test(an_unwritable_folder_is_read_and_one_warning),
      cache_lab_test(a_full_disk_is_one_warning),
      cmocka_unit_test(the_environment_says_where),
      cache_lab_test(a_claim_is_the_first_one_s),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
