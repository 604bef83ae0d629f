#include "plan/json_text.h"

#include <stdlib.h>
#include <string.h>

lampar_status lampar_json_text(cJSON *root, bool is_complete, char **text) {
  char *const printed = root != NULL && is_complete ? cJSON_Print(root) : NULL;
  cJSON_Delete(root);
  const size_t length = printed != NULL ? strlen(printed) : 0;
  char *const ended = malloc(length + 2);
  if (printed != NULL && ended != NULL) {
    memcpy(ended, printed, length);
    memcpy(ended + length, "\n", 2);
  }
  cJSON_free(printed);
  if (printed != NULL && ended != NULL) {
    *text = ended;
    return LAMPAR_OK;
  }
  free(ended);
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a JSON text");
}
