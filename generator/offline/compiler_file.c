#include "offline/compiler_file.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

#include "compile/emu_compile.h"
#include "plan/json_text.h"

static bool add(cJSON *root, const char *name, const char *version, const char *build,
                const char *const *arguments, size_t count) {
  if (root == NULL || cJSON_AddStringToObject(root, "name", name) == NULL ||
      cJSON_AddStringToObject(root, "version", version) == NULL ||
      (build != NULL && cJSON_AddStringToObject(root, "build", build) == NULL))
    return false;
  cJSON *const list = cJSON_CreateStringArray(arguments, (int)count);
  if (list != NULL && cJSON_AddItemToObject(root, "options", list)) return true;
  cJSON_Delete(list);
  return false;
}

static bool add_emu(cJSON *root, const char *version) {
  size_t count = 0;
  while (lampar_emu_compiler_arguments[count] != NULL) ++count;
  return add(cJSON_AddObjectToObject(root, "emu"), lampar_emu_compiler(), version, NULL,
             lampar_emu_compiler_arguments, count);
}

lampar_status lampar_compiler_file_make(const lampar_nvrtc *nvrtc,
                                        const lampar_nvrtc_options *options, bool has_emu,
                                        char **text) {
  *text = NULL;
  char *emu_version = NULL;
  if (has_emu) LAMPAR_TRY(lampar_emu_compiler_version(&emu_version));
  cJSON *const root = cJSON_CreateObject();
  bool good = root != NULL;
  if (good && nvrtc != NULL) {
    const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX];
    const size_t count = lampar_nvrtc_arguments(nvrtc, options, arguments);
    good = add(root, "nvrtc", lampar_nvrtc_version(nvrtc), lampar_nvrtc_build(nvrtc), arguments,
               count);
  }
  if (good && has_emu) good = add_emu(root, emu_version);
  free(emu_version);
  return lampar_json_text(root, good, text);
}
