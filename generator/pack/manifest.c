#include "pack/manifest.h"

#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "pack/arch.h"
#include "pack/pack_read.h"
#include "plan/json_text.h"
#include "plan/variant_json.h"

enum { SCHEMA = 1 };

static bool add_digest(cJSON *object, const void *bytes, size_t size) {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char hex[LAMPAR_DIGEST_HEX];
  lampar_digest(bytes, size, digest);
  lampar_digest_hex(digest, hex);
  return cJSON_AddStringToObject(object, "xxh128", hex) != NULL;
}

static bool add_kernel(cJSON *entry, const lampar_pack_kernel *kernel) {
  const lampar_pack_record *const record = kernel->record;
  return lampar_variant_to_json(entry, &kernel->variant) &&
         cJSON_AddNumberToObject(entry, "registers", record->registers) != NULL &&
         cJSON_AddNumberToObject(entry, "shared_bytes", record->shared_bytes) != NULL &&
         cJSON_AddNumberToObject(entry, "spill_bytes", record->spill_bytes) != NULL &&
         cJSON_AddNumberToObject(entry, "code_bytes", (double)record->code_bytes) != NULL &&
         add_digest(entry, kernel->code, record->code_bytes);
}

bool lampar_manifest_kernels(cJSON *root, const lampar_pack *pack, size_t first, size_t count) {
  cJSON *const list = cJSON_AddArrayToObject(root, "kernels");
  bool good = list != NULL;
  for (size_t i = first; good && i < first + count; ++i) {
    cJSON *const entry = cJSON_CreateObject();
    good =
        entry != NULL && cJSON_AddItemToArray(list, entry) && add_kernel(entry, &pack->kernels[i]);
  }
  return good;
}

static bool add_archs(cJSON *root, const lampar_plan *plan) {
  cJSON *const archs = cJSON_AddArrayToObject(root, "archs");
  bool good = archs != NULL;
  for (size_t i = 0; good && i < plan->variant_count; ++i)
    if (i == 0 || plan->variants[i].arch != plan->variants[i - 1].arch) {
      cJSON *const name = cJSON_CreateString(lampar_arch_name(plan->variants[i].arch));
      good = name != NULL && cJSON_AddItemToArray(archs, name);
    }
  return good;
}

static bool add_skips(cJSON *root, const lampar_plan *plan) {
  cJSON *const skips = cJSON_AddArrayToObject(root, "skipped");
  bool good = skips != NULL;
  for (size_t i = 0; good && i < plan->skip_count; ++i) {
    cJSON *const skip = cJSON_CreateObject();
    good = skip != NULL && cJSON_AddItemToArray(skips, skip) &&
           cJSON_AddStringToObject(skip, "what", plan->skips[i].what) != NULL &&
           cJSON_AddStringToObject(skip, "why", plan->skips[i].why) != NULL;
  }
  return good;
}

static bool add_file(cJSON *root, const lampar_pack *pack, const char *name) {
  cJSON *const file = cJSON_AddObjectToObject(root, "pack");
  return file != NULL && cJSON_AddStringToObject(file, "file", name) != NULL &&
         cJSON_AddNumberToObject(file, "bytes", (double)pack->size) != NULL &&
         cJSON_AddStringToObject(file, "digest", lampar_pack_digest(pack)) != NULL &&
         add_digest(file, pack->data, pack->size);
}

/* Takes ownership of `made_with`, which may be NULL. */
static bool fill(cJSON *root, const lampar_plan *plan, const lampar_pack *pack,
                 const char *pack_file, cJSON *made_with) {
  if (made_with != NULL && !cJSON_AddItemToObject(root, "compiler", made_with)) {
    cJSON_Delete(made_with);
    return false;
  }
  return cJSON_AddBoolToObject(root, "needs_nvlink", plan->needs_nvlink) != NULL &&
         add_archs(root, plan) && lampar_manifest_kernels(root, pack, 0, lampar_pack_count(pack)) &&
         add_skips(root, plan) && add_file(root, pack, pack_file);
}

lampar_status lampar_manifest_make(const lampar_plan *plan, const uint8_t *bytes, size_t size,
                                   const char *pack_file, const char *compiler, char **text) {
  lampar_pack *pack = NULL;
  cJSON *root = NULL, *made_with = compiler != NULL ? cJSON_Parse(compiler) : NULL;
  lampar_status status = LAMPAR_OK;
  if (compiler != NULL && made_with == NULL) {
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "the compiler's file is not JSON; build it again");
    goto out;
  }
  LAMPAR_TRY_OUT(lampar_pack_open_memory(bytes, size, pack_file, &pack));
  root = cJSON_CreateObject();
  bool good = root != NULL && cJSON_AddNumberToObject(root, "schema_version", SCHEMA) != NULL &&
              cJSON_AddStringToObject(root, "lampar_version", lampar_version()) != NULL &&
              cJSON_AddStringToObject(root, "name", plan->name) != NULL;
  if (good) {
    good = fill(root, plan, pack, pack_file, made_with);
    made_with = NULL;
  }
  status = lampar_json_text(root, good, text);
  root = NULL;
out:
  cJSON_Delete(root);
  cJSON_Delete(made_with);
  lampar_pack_close(pack);
  return status;
}
