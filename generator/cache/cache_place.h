/* Where compiled kernels are kept for later processes, and whether what lies there may be used. */
#ifndef LAMPAR_CACHE_PLACE_H
#define LAMPAR_CACHE_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

typedef struct lampar_cache_place {
  char path[PATH_MAX]; /* "": none, kernels are not kept */
  const char *source;  /* what says so: "LAMPAR_CACHE_DIR", "HOME" ...; constant text */
} lampar_cache_place;

/* The first that is given: LAMPAR_CACHE_DIR (empty: none), XDG_CACHE_HOME when it is absolute, the
 * first folder of systemd's CACHE_DIRECTORY, .cache/lampar in HOME; else none. Touches no file. */
void lampar_cache_place_find(lampar_cache_place *place);

/* Opens the folder. A cubin is code, so a folder that another user (but root) owns, or that others
 * may write to, is refused. `create` makes it and the folders above it, for this user alone.
 * Errors: SYSTEM (cannot be opened or made), ARGUMENT (refused; says what to change). */
lampar_status lampar_cache_place_open(const char *path, bool create, int *folder);

struct stat;
/* NULL: files or folders with these facts are this user's or root's, and nobody else can write.
 * Else what is wrong: "belongs to another user". */
const char *lampar_cache_check_trust(const struct stat *facts);

#endif
