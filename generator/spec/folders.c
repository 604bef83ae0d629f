#include "spec/folders.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int lampar_folders_make(const char *path, mode_t mode) {
  char part[PATH_MAX];
  const size_t length = strlen(path);
  if (length == 0) return ENOENT;
  if (length >= sizeof part) return ENAMETOOLONG;
  memcpy(part, path, length + 1);
  for (char *end = part + 1; end <= part + length; ++end) {
    if (*end != '/' && *end != '\0') continue;
    const char separator = *end;
    *end = '\0';
    if (mkdir(part, mode) != 0 && errno != EEXIST) return errno;
    *end = separator;
  }
  struct stat facts;
  if (stat(path, &facts) != 0) return errno;
  return S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
}
