/* manifest.json: the contents of a pack, for people and scripts. No times, no absolute paths. */
#ifndef LAMPAR_MANIFEST_H
#define LAMPAR_MANIFEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/* Adds the list "kernels": `count` kernels of a pack from `first` on. False: out of memory. */
bool lampar_manifest_kernels(cJSON *root, const lampar_pack *pack, size_t first, size_t count);

/* The manifest of the pack `bytes`, which will be the file `pack_file` next to it. `compiler` is
 * the text of compiler.json, or NULL. The caller frees `text`. Errors: ARGUMENT (`compiler` is not
 * JSON), PACK (the bytes are not a pack), SYSTEM. */
lampar_status lampar_manifest_make(const lampar_plan *plan, const uint8_t *bytes, size_t size,
                                   const char *pack_file, const char *compiler, char **text);

#endif
