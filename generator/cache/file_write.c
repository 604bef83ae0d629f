#include "cache/file_write.h"

#include <errno.h>
#include <unistd.h>

int lampar_file_write(int file, const void *bytes, size_t size) {
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
