#include "cli/template_folder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"

static bool has_templates(const char *folder) {
  char file[PATH_MAX];
  const int length = snprintf(file, sizeof file, "%s/oneshot.cu.in", folder);
  return length > 0 && length < PATH_MAX && access(file, R_OK) == 0;
}

static bool try_folder(const char *path, char folder[PATH_MAX]) {
  return has_templates(path) && realpath(path, folder) != NULL;
}

/* An installed bin/lampar has its templates in share/lampar/templates. */
static bool try_installed(char folder[PATH_MAX]) {
  char path[PATH_MAX];
  const char beside[] = "/../share/lampar/templates";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof beside);
  if (length <= 0) return false;
  path[length] = '\0';
  char *const name = strrchr(path, '/');
  if (name == NULL) return false;
  memcpy(name, beside, sizeof beside);
  return try_folder(path, folder);
}

lampar_status lampar_template_folder(const char *chosen, char folder[PATH_MAX]) {
  const char *subject = "--templates";
  if (chosen == NULL) {
    subject = lampar_variable_name(LAMPAR_VARIABLE_TEMPLATES);
    chosen = lampar_variable_text(LAMPAR_VARIABLE_TEMPLATES);
  }
  if (chosen != NULL) {
    if (try_folder(chosen, folder)) return LAMPAR_OK;
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "%s: folder %s has no oneshot.cu.in; name the folder with lampar's templates", subject,
        chosen);
  }
  if (try_installed(folder) || try_folder(LAMPAR_SOURCE_TEMPLATES, folder)) return LAMPAR_OK;
  return lampar_fail(
      LAMPAR_ERROR_SYSTEM,
      "no templates next to the executable or in %s; name their folder with --templates",
      LAMPAR_SOURCE_TEMPLATES);
}
