#include "spec/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

lampar_status lampar_files_add(lampar_files *files, const char *path) {
  for (size_t i = 0; i < files->count; ++i)
    if (strcmp(files->paths[i], path) == 0) return LAMPAR_OK;
  char **paths = realloc(files->paths, (files->count + 1) * sizeof *paths);
  if (paths != NULL) files->paths = paths;
  char *copy = paths != NULL ? strdup(path) : NULL;
  if (copy == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", path);
  files->paths[files->count++] = copy;
  return LAMPAR_OK;
}

void lampar_files_free(lampar_files *files) {
  for (size_t i = 0; i < files->count; ++i) free(files->paths[i]);
  free(files->paths);
  *files = (lampar_files){0};
}

lampar_status lampar_file_read(const char *path, size_t limit, char **text, size_t *size) {
  lampar_status status = LAMPAR_OK;
  char *bytes = NULL;
  size_t count = 0, room = 4096, got = 0;
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    goto out;
  }
  do {
    room *= 2;
    char *more = realloc(bytes, room + 1);
    if (more == NULL) {
      status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", path);
      goto out;
    }
    bytes = more;
    got = fread(bytes + count, 1, room - count, file);
    count += got;
    if (count > limit) {
      status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: larger than the %zu bytes that are read",
                           path, limit);
      goto out;
    }
  } while (got > 0);
  if (ferror(file)) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be read: %s", path, strerror(errno));
    goto out;
  }
  bytes[count] = '\0';
  *text = bytes;
  *size = count;
  bytes = NULL;
out:
  free(bytes);
  if (file != NULL) fclose(file);
  return status;
}
