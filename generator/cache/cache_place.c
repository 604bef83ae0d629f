#include "cache/cache_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "spec/folders.h"

/* Returns false when the path is too long. */
static bool try_folder(lampar_cache_place *place, const char *source, const char *folder,
                       size_t length, const char *below) {
  const int size = snprintf(place->path, sizeof place->path, "%.*s%s", (int)length, folder, below);
  if (size < 0 || (size_t)size >= sizeof place->path) {
    place->path[0] = '\0';
    return false;
  }
  place->source = source;
  return true;
}

void lampar_cache_place_find(lampar_cache_place *place) {
  *place = (lampar_cache_place){.source = "no HOME"};
  const char *const own = lampar_variable_name(LAMPAR_VARIABLE_CACHE_DIR);
  const char *const chosen = lampar_variable_text(LAMPAR_VARIABLE_CACHE_DIR);
  if (chosen == NULL && lampar_variable_is_empty(LAMPAR_VARIABLE_CACHE_DIR)) {
    place->source = own;
    return;
  }
  if (chosen != NULL && try_folder(place, own, chosen, strlen(chosen), "")) return;

  const char *const xdg = getenv("XDG_CACHE_HOME"); /* a relative one has to be ignored */
  if (xdg != NULL && xdg[0] == '/' &&
      try_folder(place, "XDG_CACHE_HOME", xdg, strlen(xdg), "/lampar"))
    return;
  const char *const service = getenv("CACHE_DIRECTORY");
  if (service != NULL && service[0] == '/' &&
      try_folder(place, "CACHE_DIRECTORY", service, strcspn(service, ":"), ""))
    return;
  const char *const home = getenv("HOME");
  if (home != NULL && home[0] == '/')
    try_folder(place, "HOME", home, strlen(home), "/.cache/lampar");
}

const char *lampar_cache_check_trust(const struct stat *facts) {
  if (facts->st_uid != geteuid() && facts->st_uid != 0) return "belongs to another user";
  if ((facts->st_mode & (S_IWGRP | S_IWOTH)) != 0) return "may be written by others (chmod go-w)";
  return NULL;
}

lampar_status lampar_cache_place_open(const char *path, bool create, int *folder) {
  *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*folder < 0 && errno == ENOENT && create) {
    const int cause = lampar_folders_make(path, 0700);
    if (cause != 0)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "folder %s cannot be created: %s", path,
                         strerror(cause));
    *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (*folder < 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "folder %s cannot be opened: %s", path,
                       strerror(errno));
  struct stat facts;
  const char *const wrong =
      fstat(*folder, &facts) == 0 ? lampar_cache_check_trust(&facts) : "cannot be examined";
  if (wrong == NULL) return LAMPAR_OK;
  close(*folder);
  *folder = -1;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "folder %s %s", path, wrong);
}
