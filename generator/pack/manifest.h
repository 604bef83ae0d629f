/* manifest.json: what is in a pack, for people and scripts. No times, no absolute paths. */
#ifndef LAMPAR_MANIFEST_H
#define LAMPAR_MANIFEST_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "plan/plan.h"

/* One kernel of a pack as an object; NULL: no memory. The caller deletes it. */
cJSON *lampar_manifest_kernel(const lampar_kernel_info *info);

/* The manifest of the pack `bytes`, which will be the file `pack_file` beside it. `compiler` is the
 * text of compiler.json, or NULL. The caller frees `text`.
 * Errors: ARGUMENT (`compiler` is not JSON), PACK (the bytes are not a pack), SYSTEM. */
lampar_status lampar_manifest_make(const lampar_plan *plan, const uint8_t *bytes, size_t size,
                                   const char *pack_file, const char *compiler, char **text);

#endif
