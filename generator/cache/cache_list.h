/* The files of a cache's folder, for people who look into it or empty it. */
#ifndef LAMPAR_CACHE_LIST_H
#define LAMPAR_CACHE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct lampar_cache_file {
  char *path;
  char *kernel; /* NULL: it says of no kernel of this format: another format, or a leftover */
  size_t size;  /* bytes */
} lampar_cache_file;

/* Sorted by kernel, then by path. */
typedef struct lampar_cache_list {
  lampar_cache_file *files;
  size_t count;
} lampar_cache_list;

/* A folder that is not there has no files. The caller frees the list. Errors: SYSTEM (cannot be
 * read), ARGUMENT (a folder that the cache refuses). */
lampar_status lampar_cache_list_read(const char *folder, lampar_cache_list *list);
void lampar_cache_list_free(lampar_cache_list *list);

/* Deletes the files of the list, which loses their paths, and the folders that are empty then,
 * below `folder`. Processes that use the cache meanwhile are not disturbed: what is gone is a miss.
 * Errors: SYSTEM, naming the file. */
lampar_status lampar_cache_list_delete(const char *folder, lampar_cache_list *list);

#endif
