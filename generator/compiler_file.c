#include "compiler_file.h"

#include <cjson/cJSON.h>

#include "json_text.h"

lampar_status lampar_compiler_file_make(const lampar_nvrtc *nvrtc,
                                        const lampar_nvrtc_options *options, char **text) {
  const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX];
  const size_t count = lampar_nvrtc_arguments(nvrtc, options, arguments);
  cJSON *const root = cJSON_CreateObject();
  cJSON_AddStringToObject(root, "name", "nvrtc");
  cJSON_AddStringToObject(root, "version", lampar_nvrtc_version(nvrtc));
  cJSON_AddStringToObject(root, "build", lampar_nvrtc_build(nvrtc));
  cJSON_AddItemToObject(root, "options", cJSON_CreateStringArray(arguments, (int)count));
  return lampar_json_text(root, text);
}
