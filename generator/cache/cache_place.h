/* The folder of the cache, and whether its contents can be trusted. */
#ifndef LAMPAR_CACHE_PLACE_H
#define LAMPAR_CACHE_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

typedef struct lampar_cache_place {
  char path[PATH_MAX]; /* "": none, kernels are not stored */
  const char
      *source; /* the variable it comes from: "LAMPAR_CACHE_DIR", "HOME" ...; constant text */
} lampar_cache_place;

/* The first that is set: LAMPAR_CACHE_DIR (empty: none), XDG_CACHE_HOME when it is absolute, the
 * first folder of systemd's CACHE_DIRECTORY, .cache/lampar in HOME; else none. Touches no file. */
void lampar_cache_place_find(lampar_cache_place *place);

/* Opens the folder. A cubin is code, so a folder is refused if its owner is neither this user nor
 * root, or if others may write to it. `create` creates it and the folders above it, for this user
 * alone. Errors: SYSTEM (cannot be opened or created), ARGUMENT (refused; the message says why). */
lampar_status lampar_cache_place_open(const char *path, bool create, int *folder);

struct stat;
/* Returns NULL if a file or folder belongs to this user or root, and nobody else may write to it;
 * otherwise what is wrong: "belongs to another user". */
const char *lampar_cache_check_trust(const struct stat *facts);

#endif
