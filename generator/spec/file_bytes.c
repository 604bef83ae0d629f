#include "spec/file_bytes.h"

#include <errno.h>
#include <unistd.h>

int lampar_file_bytes_read(int file, void *bytes, size_t size) {
  char *rest = bytes;
  while (size > 0) {
    const ssize_t got = read(file, rest, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return ENODATA;
    rest += got;
    size -= (size_t)got;
  }
  return 0;
}

int lampar_file_bytes_write(int file, const void *bytes, size_t size) {
  const char *rest = bytes;
  while (size > 0) {
    const ssize_t written = write(file, rest, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    rest += written;
    size -= (size_t)written;
  }
  return fsync(file) == 0 ? 0 : errno;
}
