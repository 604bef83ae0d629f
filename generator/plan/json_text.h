/* JSON as text. */
#ifndef LAMPAR_JSON_TEXT_H
#define LAMPAR_JSON_TEXT_H

#include <cjson/cJSON.h>

#include "base/error.h"

/* Prints `root`, with a line end, and frees it. `*text` is the caller's to free with free().
 * Errors: SYSTEM (no memory, also when `root` is NULL because there was none to make it). */
lampar_status lampar_json_text(cJSON *root, char **text);

#endif
