#include "template_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "embedded_texts.h"
#include "error.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static bool make_path(const char *folder, const char *name, char path[PATH_MAX]) {
  const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
  return length > 0 && length < PATH_MAX;
}

bool lampar_template_exists(const char *folder, const char *name) {
  char path[PATH_MAX];
  if (!folder) return lampar_embedded_find(lampar_embedded_templates, name) != NULL;
  return make_path(folder, name, path) && access(path, F_OK) == 0;
}

static lampar_status read_embedded(const char *name, char **text, size_t *size) {
  const lampar_embedded_text *embedded = lampar_embedded_find(lampar_embedded_templates, name);
  if (!embedded)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "templates/%s: there is none inside lampar", name);
  *text = strdup(embedded->text);
  if (!*text) return lampar_fail(LAMPAR_ERROR_SYSTEM, "templates/%s: out of memory", name);
  *size = embedded->size;
  return LAMPAR_OK;
}

lampar_status lampar_template_read(const char *folder, const char *name, char **text, size_t *size,
                                   lampar_files *read) {
  if (!folder) return read_embedded(name, text, size);
  char path[PATH_MAX];
  if (!make_path(folder, name, path))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%.64s...: the path is too long", folder);
  LAMPAR_TRY(lampar_file_read(path, FILE_BYTES_MAX, text, size));
  const lampar_status status = read ? lampar_files_add(read, path) : LAMPAR_OK;
  if (status != LAMPAR_OK) free(*text);
  return status;
}
