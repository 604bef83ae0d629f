#include "plan/json_text.h"

#include <stdlib.h>
#include <string.h>

lampar_status lampar_json_text(cJSON *root, char **text) {
  char *const printed = root != NULL ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  const size_t length = printed != NULL ? strlen(printed) : 0;
  char *const ended = printed != NULL ? realloc(printed, length + 2) : NULL;
  if (ended == NULL) {
    free(printed);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for a JSON text");
  }
  memcpy(ended + length, "\n", 2);
  *text = ended;
  return LAMPAR_OK;
}
