#include "plan/operand_json.h"

#include <string.h>

#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/variant.h"

static bool add(cJSON *list, const lampar_operand_info *operand) {
  cJSON *const entry = cJSON_CreateObject();
  if (!entry || !cJSON_AddItemToArray(list, entry)) return false;
  return cJSON_AddStringToObject(entry, "name", operand->name) &&
         cJSON_AddStringToObject(entry, "dtype", lampar_dtype_name(operand->dtype)) &&
         cJSON_AddStringToObject(entry, "per", lampar_granularity_name(operand->granularity)) &&
         cJSON_AddBoolToObject(entry, "output", operand->output) &&
         cJSON_AddNumberToObject(entry, "group", operand->group);
}

bool lampar_operands_to_json(cJSON *kernel, const lampar_operand_info *operands, uint32_t count) {
  cJSON *const list = cJSON_AddArrayToObject(kernel, "operands");
  bool good = list;
  for (uint32_t i = 0; good && i < count; ++i) good = add(list, &operands[i]);
  return good;
}

static const char *text(const cJSON *entry, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, name));
}

bool lampar_operand_from_json(const cJSON *entry, lampar_operand_info *operand) {
  const char *name = text(entry, "name"), *dtype = text(entry, "dtype"), *per = text(entry, "per");
  const cJSON *const output = cJSON_GetObjectItemCaseSensitive(entry, "output");
  const cJSON *const group = cJSON_GetObjectItemCaseSensitive(entry, "group");
  if (!name || strlen(name) >= sizeof operand->name || !dtype || !per || !cJSON_IsBool(output) ||
      !cJSON_IsNumber(group) || !(group->valuedouble >= 0 && group->valuedouble <= UINT32_MAX))
    return false;
  *operand = (lampar_operand_info){0};
  memcpy(operand->name, name, strlen(name));
  operand->output = cJSON_IsTrue(output);
  operand->group = (uint32_t)group->valuedouble; /* a fraction does not survive the round trip */
  return lampar_dtype_parse(dtype, &operand->dtype) &&
         lampar_granularity_parse(per, &operand->granularity);
}
