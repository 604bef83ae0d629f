/* The host's C++ compiler as the compiler of arch emu: every failure around it is reported, and
 * none leaves a file behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "compile/emu_compile.h"
#include "scratch.h"

enum { LONG_SOURCE_BYTES = 300000 };

static int setup(void **state) {
  scratch_setup(state);
  const scratch *const s = *state;
  unsetenv("CXX");
  return setenv("TMPDIR", s->folder, 1);
}

static int teardown(void **state) {
  unsetenv("CXX");
  unsetenv("TMPDIR");
  return scratch_teardown(state);
}

static bool has_compiler(void) {
  return system("c++ --version > /dev/null 2>&1") == 0;
}

/* The compiler's own files are gone: rmdir refuses a folder that is not empty. */
static void leaves_nothing(const scratch *s) {
  assert_int_equal(rmdir(s->folder), 0);
  assert_int_equal(mkdir(s->folder, 0700), 0);
}

static void fails(const char *source, lampar_status status, const char *part) {
  char *code = NULL, *log = NULL;
  size_t size = 1;
  assert_int_equal(lampar_emu_compile("kernel.cu", source, &code, &size, &log), status);
  assert_null(code);
  assert_int_equal(size, 0);
  if (strstr(lampar_last_error(), part) == NULL)
    fail_msg("no '%s' in: %s", part, lampar_last_error());
  free(log);
}

static void a_long_source_gives_the_same_object_twice(void **state) {
  if (!has_compiler()) skip();
  char *const source = malloc(LONG_SOURCE_BYTES), *codes[2], *log;
  size_t sizes[2];
  assert_non_null(source);
  memset(source, ' ', LONG_SOURCE_BYTES);
  snprintf(source + LONG_SOURCE_BYTES - 64, 64, "extern \"C\" int f() { return 7; }");
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(lampar_emu_compile("kernel.cu", source, &codes[i], &sizes[i], &log),
                     LAMPAR_OK);
    assert_string_equal(log, "");
    free(log);
  }
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(codes[0], codes[1], sizes[0]);
  free(codes[0]);
  free(codes[1]);
  free(source);
  leaves_nothing(*state);
}

static void a_wrong_source_comes_with_the_compiler_s_messages(void **state) {
  if (!has_compiler()) skip();
  char *code, *log;
  size_t size;
  assert_int_equal(lampar_emu_compile("kernel.cu", "int f() { return x; }", &code, &size, &log),
                   LAMPAR_ERROR_ARGUMENT);
  assert_non_null(strstr(lampar_last_error(), "kernel.cu: does not compile for emu"));
  assert_non_null(strstr(log, "error"));
  free(log);
  leaves_nothing(*state);
}

static void a_missing_compiler_is_named(void **state) {
  char *version;
  setenv("CXX", "/nowhere/c++", 1);
  fails("", LAMPAR_ERROR_SYSTEM, "/nowhere/c++: No such file or directory");
  assert_int_equal(lampar_emu_compiler_version(&version), LAMPAR_ERROR_SYSTEM);
  assert_non_null(strstr(lampar_last_error(), "name it in CXX"));
  leaves_nothing(*state);
}

static void a_compiler_that_fails_has_no_version(void **state) {
  (void)state;
  char *version;
  setenv("CXX", "false", 1);
  assert_int_equal(lampar_emu_compiler_version(&version), LAMPAR_ERROR_SYSTEM);
  assert_string_equal(lampar_last_error(), "false --version failed with status 1; name another C++ "
                                           "compiler in CXX");
  assert_null(version);
}

static void a_compiler_that_is_killed_is_reported(void **state) {
  const scratch *const s = *state;
  static const char script[] = "#!/bin/sh\nkill -9 $$\n";
  char path[SCRATCH_PATH_BYTES];
  scratch_write(s, "killed", script, sizeof script - 1, path);
  char command[SCRATCH_PATH_BYTES + 16];
  snprintf(command, sizeof command, "chmod +x '%s'", path);
  assert_int_equal(system(command), 0);
  setenv("CXX", path, 1);
  fails("", LAMPAR_ERROR_SYSTEM, "killed was stopped: Killed");
  assert_int_equal(unlink(path), 0);
  leaves_nothing(s);
}

static void a_folder_that_cannot_be_used_is_reported(void **state) {
  (void)state;
  char path[PATH_MAX + 10];
  setenv("TMPDIR", "/nowhere", 1);
  fails("", LAMPAR_ERROR_SYSTEM, "No such file or directory; set TMPDIR");
  memset(path, 'x', sizeof path);
  path[0] = '/';
  path[sizeof path - 1] = '\0';
  setenv("TMPDIR", path, 1);
  fails("", LAMPAR_ERROR_SYSTEM, "/xxx");
}

/* Without a file for its input the compiler must not start: it would read this process's input. */
static void no_more_open_files_is_an_error(void **state) {
  struct rlimit before;
  char *version;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = open("/dev/null", O_RDONLY);
  assert_true(next >= 0);
  close(next);
  for (rlim_t more = 0; more < 2; ++more) {
    const struct rlimit limit = {(rlim_t)next + more, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    fails("int f();", LAMPAR_ERROR_SYSTEM, "Too many open files");
    assert_int_equal(lampar_emu_compiler_version(&version), LAMPAR_ERROR_SYSTEM);
    assert_non_null(strstr(lampar_last_error(), "Too many open files"));
    assert_null(version);
  }
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  leaves_nothing(*state);
}

#define compile_test(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      compile_test(a_long_source_gives_the_same_object_twice),
      compile_test(a_wrong_source_comes_with_the_compiler_s_messages),
      compile_test(a_missing_compiler_is_named),
      compile_test(a_compiler_that_fails_has_no_version),
      compile_test(a_compiler_that_is_killed_is_reported),
      compile_test(a_folder_that_cannot_be_used_is_reported),
      compile_test(no_more_open_files_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
