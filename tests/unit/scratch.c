#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>
#include <sys/stat.h>
#include <cmocka.h>

void scratch_open(scratch *s) {
  const char *parent = getenv("TMPDIR");
  snprintf(s->folder, sizeof s->folder, "%s/lampar-test-XXXXXX", parent ? parent : "/tmp");
  assert_non_null(mkdtemp(s->folder));
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(path);
}

void scratch_close(scratch *s) {
  assert_int_equal(nftw(s->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int scratch_setup(void **state) {
  scratch *const s = *state = calloc(1, sizeof *s);
  if (s == NULL) return -1;
  scratch_open(s);
  return 0;
}

int scratch_teardown(void **state) {
  scratch_close(*state);
  free(*state);
  return 0;
}

void scratch_path(const scratch *s, const char *name, char path[SCRATCH_PATH_BYTES]) {
  assert_true(strlen(s->folder) + strlen(name) + 2 <= SCRATCH_PATH_BYTES);
  char *end = stpcpy(stpcpy(path, s->folder), "/");
  for (const char *at = name; *at != '\0'; ++at) {
    *end = '\0';
    if (*at == '/') mkdir(path, 0777);
    *end++ = *at;
  }
  *end = '\0';
}

void scratch_write(const scratch *s, const char *name, const void *data, size_t size,
                   char path[SCRATCH_PATH_BYTES]) {
  scratch_path(s, name, path);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}
