#include "offline/compiler_file.h"

#include <stdlib.h>

#include <cjson/cJSON.h>

#include "compile/emu_compile.h"
#include "plan/json_text.h"

static void add(cJSON *root, const char *name, const char *version, const char *build,
                const char *const *arguments, size_t count) {
  cJSON_AddStringToObject(root, "name", name);
  cJSON_AddStringToObject(root, "version", version);
  if (build != NULL) cJSON_AddStringToObject(root, "build", build);
  cJSON_AddItemToObject(root, "options", cJSON_CreateStringArray(arguments, (int)count));
}

static lampar_status add_emu(cJSON *root) {
  char *version;
  size_t count = 0;
  LAMPAR_TRY(lampar_emu_compiler_version(&version));
  while (lampar_emu_compiler_arguments[count] != NULL) ++count;
  add(cJSON_AddObjectToObject(root, "emu"), lampar_emu_compiler(), version, NULL,
      lampar_emu_compiler_arguments, count);
  free(version);
  return LAMPAR_OK;
}

lampar_status lampar_compiler_file_make(const lampar_nvrtc *nvrtc,
                                        const lampar_nvrtc_options *options, bool has_emu,
                                        char **text) {
  cJSON *const root = cJSON_CreateObject();
  lampar_status status = LAMPAR_OK;
  if (nvrtc != NULL) {
    const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX];
    const size_t count = lampar_nvrtc_arguments(nvrtc, options, arguments);
    add(root, "nvrtc", lampar_nvrtc_version(nvrtc), lampar_nvrtc_build(nvrtc), arguments, count);
  }
  if (has_emu) status = add_emu(root);
  if (status == LAMPAR_OK) return lampar_json_text(root, text);
  cJSON_Delete(root);
  *text = NULL;
  return status;
}
