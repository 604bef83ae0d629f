/* JSON as text. */
#ifndef LAMPAR_JSON_TEXT_H
#define LAMPAR_JSON_TEXT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/error.h"

/* Prints `root`, with a line end, and frees it. `is_complete` says whether everything that belongs
 * into it is there: every writer checks what cJSON returns, so that a lack of memory is an error
 * and never a shorter text. The caller frees `text` with free(). Errors: SYSTEM (out of memory,
 * also when `root` is NULL). */
lampar_status lampar_json_text(cJSON *root, bool is_complete, char **text);

#endif
