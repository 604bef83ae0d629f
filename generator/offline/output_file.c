#include "offline/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/file_bytes.h"
#include "spec/files.h"
#include "spec/folders.h"

static bool has_bytes(const char *path, const void *bytes, size_t size) {
  struct stat facts;
  if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size != size)
    return false;
  char *present;
  size_t present_size;
  if (lampar_file_read(path, size, &present, &present_size) != LAMPAR_OK) return false;
  const bool same = present_size == size && memcmp(present, bytes, size) == 0;
  free(present);
  return same;
}

lampar_status lampar_output_file_write(const char *path, const void *bytes, size_t size) {
  if (has_bytes(path, bytes, size)) return LAMPAR_OK;

  char beside[PATH_MAX];
  const int length = snprintf(beside, sizeof beside, "%s.%ld.tmp", path, (long)getpid());
  if (length < 0 || (size_t)length >= sizeof beside)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: the path is too long to be written", path);

  const int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
  int cause = lampar_file_bytes_write(file, bytes, size);
  if (close(file) != 0 && cause == 0) cause = errno;
  if (cause == 0 && rename(beside, path) != 0) cause = errno;
  if (cause == 0) return LAMPAR_OK;
  unlink(beside);
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be written: %s", path, strerror(cause));
}

lampar_status lampar_output_folder_make(const char *path) {
  const int cause = lampar_folders_make(path, 0777);
  if (cause == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "folder %s cannot be created: %s; choose another with -o",
                     path, strerror(cause));
}
