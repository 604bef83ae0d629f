#include "cache/cache_list.h"

#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache_entry.h"
#include "cache/cache_place.h"

enum { DEPTH = 3 }; /* FOLDER/v1/ab/FILE */

/* Only files that the cache creates: the folder may hold others as well. */
static bool is_ours(const FTSENT *entry) {
  const char *const version = entry->fts_parent->fts_parent->fts_name;
  return version[0] == 'v' && strspn(version + 1, "0123456789") == strlen(version + 1) &&
         strlen(entry->fts_parent->fts_name) == 2;
}

static lampar_status add(lampar_cache_list *list, const char *path, size_t size) {
  lampar_cache_file *const more = realloc(list->files, (list->count + 1) * sizeof *list->files);
  if (more == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a list of the cache");
  list->files = more;
  lampar_cache_file *const file = &list->files[list->count];
  *file = (lampar_cache_file){.path = strdup(path), .size = size};
  if (file->path == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a list of the cache");
  ++list->count;
  char start[LAMPAR_CACHE_ENTRY_NAME_END], name[LAMPAR_NAME_BYTES];
  FILE *const in = fopen(path, "rb");
  const size_t read = in != NULL ? fread(start, 1, sizeof start, in) : 0;
  if (in != NULL) fclose(in);
  if (lampar_cache_entry_name(start, read, name)) file->kernel = strdup(name);
  return LAMPAR_OK;
}

static int compare(const void *left, const void *right) {
  const lampar_cache_file *const a = left, *const b = right;
  const int order = strcmp(a->kernel != NULL ? a->kernel : "", b->kernel != NULL ? b->kernel : "");
  return order != 0 ? order : strcmp(a->path, b->path);
}

lampar_status lampar_cache_list_read(const char *folder, lampar_cache_list *list) {
  *list = (lampar_cache_list){0};
  int file;
  if (access(folder, F_OK) != 0 && errno == ENOENT) return LAMPAR_OK;
  LAMPAR_TRY(lampar_cache_place_open(folder, false, &file));
  close(file);
  char *const roots[] = {(char *)(uintptr_t)folder, NULL};
  FTS *const tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  if (tree == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be read: %s", folder, strerror(errno));
  lampar_status status = LAMPAR_OK;
  for (FTSENT *entry; status == LAMPAR_OK && (entry = fts_read(tree)) != NULL;) {
    if (entry->fts_level > DEPTH) fts_set(tree, entry, FTS_SKIP);
    if (entry->fts_info == FTS_F && entry->fts_level == DEPTH && is_ours(entry))
      status = add(list, entry->fts_path, (size_t)entry->fts_statp->st_size);
  }
  fts_close(tree);
  if (status != LAMPAR_OK) lampar_cache_list_free(list);
  else if (list->count > 0) qsort(list->files, list->count, sizeof *list->files, compare);
  return status;
}

void lampar_cache_list_free(lampar_cache_list *list) {
  for (size_t i = 0; i < list->count; ++i) {
    free(list->files[i].path);
    free(list->files[i].kernel);
  }
  free(list->files);
  *list = (lampar_cache_list){0};
}

lampar_status lampar_cache_list_delete(const char *folder, lampar_cache_list *list) {
  for (size_t i = 0; i < list->count; ++i) {
    char *const path = list->files[i].path;
    if (unlink(path) != 0 && errno != ENOENT)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be deleted: %s", path, strerror(errno));
    /* rmdir refuses a folder that is not empty. */
    for (char *slash = strrchr(path, '/'); slash != NULL && slash > path + strlen(folder);
         slash = strrchr(path, '/')) {
      *slash = '\0';
      if (rmdir(path) != 0) break;
    }
  }
  return LAMPAR_OK;
}
