#include "template/template_text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "spec/embedded_texts.h"

static bool make_path(const char *folder, const char *name, char path[PATH_MAX]) {
  const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
  return length > 0 && length < PATH_MAX;
}

bool lampar_template_exists(const char *folder, const char *name) {
  char path[PATH_MAX];
  if (folder == NULL) return lampar_embedded_find(lampar_embedded_templates, name) != NULL;
  return make_path(folder, name, path) && access(path, F_OK) == 0;
}

static lampar_status read_embedded(const char *name, char **text, size_t *size) {
  const lampar_embedded_text *embedded = lampar_embedded_find(lampar_embedded_templates, name);
  if (embedded == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "templates/%s: there is none inside lampar", name);
  *text = strdup(embedded->text);
  if (*text == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "templates/%s: out of memory", name);
  *size = embedded->size;
  return LAMPAR_OK;
}

lampar_status lampar_template_read(const char *folder, const char *name, char **text, size_t *size,
                                   lampar_files *read) {
  if (folder == NULL) return read_embedded(name, text, size);
  char path[PATH_MAX];
  if (!make_path(folder, name, path))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%.64s...: the path is too long", folder);
  LAMPAR_TRY(lampar_file_read(path, LAMPAR_TEMPLATE_BYTES_MAX, text, size));
  const lampar_status status = read != NULL ? lampar_files_add(read, path) : LAMPAR_OK;
  if (status != LAMPAR_OK) free(*text);
  return status;
}

/* Adds "NAME" of "NAME.cu.in"; other files are no stages. */
static lampar_status add_name(const char *file, lampar_files *names) {
  static const char suffix[] = ".cu.in";
  const size_t length = strlen(file), tail = sizeof suffix - 1;
  if (length <= tail || strcmp(file + length - tail, suffix) != 0) return LAMPAR_OK;
  char *name = strndup(file, length - tail);
  if (name == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", file);
  const lampar_status status = lampar_files_add(names, name);
  free(name);
  return status;
}

static lampar_status add_embedded_names(const char *under, lampar_files *names) {
  const size_t length = under != NULL ? strlen(under) : 0;
  for (const lampar_embedded_text *text = lampar_embedded_templates; text->name != NULL; ++text) {
    const char *file = text->name;
    if (under != NULL && (strncmp(file, under, length) != 0 || file[length] != '/')) continue;
    if (under != NULL) file += length + 1;
    if (strchr(file, '/') == NULL) LAMPAR_TRY(add_name(file, names));
  }
  return LAMPAR_OK;
}

lampar_status lampar_template_names(const char *folder, const char *under, lampar_files *names) {
  if (folder == NULL) return add_embedded_names(under, names);
  char path[PATH_MAX];
  if (!make_path(folder, under != NULL ? under : ".", path)) return LAMPAR_OK;
  DIR *open = opendir(path);
  if (open == NULL) return LAMPAR_OK;
  lampar_status status = LAMPAR_OK;
  for (const struct dirent *entry; status == LAMPAR_OK && (entry = readdir(open)) != NULL;)
    status = add_name(entry->d_name, names);
  closedir(open);
  return status;
}
