/* The files in the cache's folder, to list or delete them. */
#ifndef LAMPAR_CACHE_LIST_H
#define LAMPAR_CACHE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct lampar_cache_file {
  char *path;
  char *kernel; /* NULL: not an entry of this format, or a leftover */
  size_t size;  /* bytes */
} lampar_cache_file;

/* Sorted by kernel, then by path. */
typedef struct lampar_cache_list {
  lampar_cache_file *files;
  size_t count;
} lampar_cache_list;

/* A missing folder has no files. The caller frees the list. Errors: SYSTEM (cannot be
 * read), ARGUMENT (a folder that the cache refuses). */
lampar_status lampar_cache_list_read(const char *folder, lampar_cache_list *list);
void lampar_cache_list_free(lampar_cache_list *list);

/* Deletes the files of the list, which loses their paths, and the folders below `folder` that are
 * empty then. Safe while processes use the cache: a deleted file is a miss. Errors: SYSTEM, naming
 * the file. */
lampar_status lampar_cache_list_delete(const char *folder, lampar_cache_list *list);

#endif
