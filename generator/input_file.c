#include "input_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lampar_status read_stream(FILE *stream, const char *path, char **bytes, size_t *size) {
  size_t capacity = 4096, used = 0;
  char *buffer = NULL;
  for (;;) {
    char *larger = realloc(buffer, capacity + 1);
    if (larger == NULL) {
      free(buffer);
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: no memory for its %zu bytes", path, capacity);
    }
    buffer = larger;
    used += fread(buffer + used, 1, capacity - used, stream);
    if (used < capacity) break;
    capacity *= 2;
  }
  if (ferror(stream)) {
    const int cause = errno;
    free(buffer);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be read: %s", path, strerror(cause));
  }
  buffer[used] = '\0';
  *bytes = buffer;
  *size = used;
  return LAMPAR_OK;
}

lampar_status lampar_input_file_read(const char *path, char **bytes, size_t *size) {
  *bytes = NULL;
  *size = 0;
  FILE *stream = fopen(path, "rb");
  if (stream == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno));
  const lampar_status status = read_stream(stream, path, bytes, size);
  fclose(stream);
  return status;
}
