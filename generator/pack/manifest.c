#include "pack/manifest.h"

#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/variant.h"
#include "plan/json_text.h"
#include "plan/operand_json.h"

enum { SCHEMA = 1 };

static void add_digest(cJSON *object, const void *bytes, size_t size) {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char hex[LAMPAR_DIGEST_HEX];
  lampar_digest(bytes, size, digest);
  lampar_digest_hex(digest, hex);
  cJSON_AddStringToObject(object, "xxh128", hex);
}

cJSON *lampar_manifest_kernel(const lampar_kernel_info *info) {
  cJSON *const kernel = cJSON_CreateObject();
  cJSON_AddStringToObject(kernel, "name", info->name);
  cJSON_AddStringToObject(kernel, "arch", info->arch);
  cJSON_AddStringToObject(kernel, "algorithm", info->algorithm);
  cJSON_AddNumberToObject(kernel, "world", info->world);
  cJSON_AddStringToObject(kernel, "dtype", lampar_dtype_name(info->dtype));
  cJSON_AddStringToObject(kernel, "epilogue", info->epilogue);
  cJSON_AddStringToObject(kernel, "rounding", lampar_rounding_name(info->rounding));
  cJSON_AddNumberToObject(kernel, "hidden", info->hidden);
  cJSON_AddNumberToObject(kernel, "max_rows", info->max_rows);
  cJSON_AddNumberToObject(kernel, "max_bytes", (double)info->max_bytes);
  cJSON_AddBoolToObject(kernel, "persistent", info->persistent);
  cJSON_AddNumberToObject(kernel, "threads", info->threads);
  cJSON_AddNumberToObject(kernel, "cluster", info->cluster);
  cJSON_AddNumberToObject(kernel, "vectors_per_warp", info->vectors_per_warp);
  cJSON_AddNumberToObject(kernel, "watchdog_ms", info->watchdog_ms);
  lampar_operands_to_json(kernel, info->operands, info->operand_count);
  cJSON_AddNumberToObject(kernel, "registers", info->registers);
  cJSON_AddNumberToObject(kernel, "shared_bytes", info->shared_bytes);
  cJSON_AddNumberToObject(kernel, "spill_bytes", info->spill_bytes);
  cJSON_AddNumberToObject(kernel, "code_bytes", (double)info->code_size);
  add_digest(kernel, info->code, info->code_size);
  return kernel;
}

static void add_archs(cJSON *root, const lampar_plan *plan) {
  cJSON *const archs = cJSON_AddArrayToObject(root, "archs");
  for (size_t i = 0; i < plan->variant_count; ++i)
    if (i == 0 || plan->variants[i].arch != plan->variants[i - 1].arch)
      cJSON_AddItemToArray(archs, cJSON_CreateString(lampar_arch_name(plan->variants[i].arch)));
}

static lampar_status add_kernels(cJSON *root, const lampar_pack *pack) {
  cJSON *const kernels = cJSON_AddArrayToObject(root, "kernels");
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    lampar_kernel_info info;
    LAMPAR_TRY(lampar_pack_info(pack, i, &info));
    cJSON_AddItemToArray(kernels, lampar_manifest_kernel(&info));
  }
  return LAMPAR_OK;
}

static void add_skips(cJSON *root, const lampar_plan *plan) {
  cJSON *const skips = cJSON_AddArrayToObject(root, "skipped");
  for (size_t i = 0; i < plan->skip_count; ++i) {
    cJSON *const skip = cJSON_CreateObject();
    cJSON_AddStringToObject(skip, "what", plan->skips[i].what);
    cJSON_AddStringToObject(skip, "why", plan->skips[i].why);
    cJSON_AddItemToArray(skips, skip);
  }
}

lampar_status lampar_manifest_make(const lampar_plan *plan, const uint8_t *bytes, size_t size,
                                   const char *pack_file, const char *compiler, char **text) {
  cJSON *const made_with = compiler != NULL ? cJSON_Parse(compiler) : NULL;
  if (compiler != NULL && made_with == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "the compiler's file is not JSON; build it again");
  lampar_pack *pack = NULL;
  lampar_status status = lampar_pack_open_memory(bytes, size, pack_file, &pack);
  if (status != LAMPAR_OK) {
    cJSON_Delete(made_with);
    return status;
  }

  cJSON *const root = cJSON_CreateObject();
  cJSON_AddNumberToObject(root, "schema_version", SCHEMA);
  cJSON_AddStringToObject(root, "lampar_version", lampar_version());
  cJSON_AddStringToObject(root, "name", plan->name);
  if (made_with != NULL) cJSON_AddItemToObject(root, "compiler", made_with);
  cJSON_AddBoolToObject(root, "needs_nvlink", plan->needs_nvlink);
  add_archs(root, plan);
  status = add_kernels(root, pack);
  add_skips(root, plan);
  cJSON *const file = cJSON_AddObjectToObject(root, "pack");
  cJSON_AddStringToObject(file, "file", pack_file);
  cJSON_AddNumberToObject(file, "bytes", (double)size);
  cJSON_AddStringToObject(file, "digest", lampar_pack_digest(pack));
  add_digest(file, bytes, size);
  lampar_pack_close(pack);
  if (status != LAMPAR_OK) {
    cJSON_Delete(root);
    return status;
  }
  return lampar_json_text(root, text);
}
