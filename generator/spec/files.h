/* Reading files, with a size limit for each kind; and the list of files that a step has read, for
 * its depfile. */
#ifndef LAMPAR_FILES_H
#define LAMPAR_FILES_H

#include <stddef.h>

#include "lampar/lampar.h"

/* Largest file of each kind, in bytes. */
enum {
  LAMPAR_SPEC_BYTES_MAX = 1 << 20,
  LAMPAR_TEMPLATE_BYTES_MAX = 1 << 20,
  LAMPAR_PLAN_BYTES_MAX = 16 << 20,
  LAMPAR_SOURCE_BYTES_MAX = 16 << 20,       /* a kernel's */
  LAMPAR_CODE_BYTES_MAX = 64 << 20,         /* a kernel's */
  LAMPAR_COMPILER_FILE_BYTES_MAX = 1 << 20, /* compiler.json */
  LAMPAR_MODEL_CONFIG_BYTES_MAX = 16 << 20,
};

/* Start from zeros. Paths are in the order of their first reading, each once. */
typedef struct lampar_files {
  char **paths;
  size_t count;
} lampar_files;

/* Keeps a copy of `path`. Errors: SYSTEM. */
lampar_status lampar_files_add(lampar_files *files, const char *path);

/* Leaves an empty list. */
void lampar_files_free(lampar_files *files);

/* The bytes of a file, followed by a 0 that `size` does not count; the caller frees `text`.
 * Errors: SYSTEM (cannot be read), ARGUMENT (more than `limit` bytes). */
lampar_status lampar_file_read(const char *path, size_t limit, char **text, size_t *size);

#endif
