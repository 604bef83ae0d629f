#include "plan/variant_json.h"

#include <math.h>
#include <string.h>

#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/variant_fields.h"

/* ---- writing ---- */

static bool add_field(cJSON *entry, const lampar_variant *variant,
                      const lampar_variant_field *field) {
  switch (field->kind) {
  case LAMPAR_FIELD_NUMBER:
  case LAMPAR_FIELD_SIZE:
    return cJSON_AddNumberToObject(entry, field->name,
                                   (double)lampar_variant_get(variant, field)) != NULL;
  case LAMPAR_FIELD_FLAG:
    return cJSON_AddBoolToObject(entry, field->name, lampar_variant_get(variant, field) != 0) !=
           NULL;
  case LAMPAR_FIELD_NAME:
  case LAMPAR_FIELD_TEXT:
    return cJSON_AddStringToObject(entry, field->name, lampar_variant_get_text(variant, field)) !=
           NULL;
  }
  return false;
}

static bool add_operand(cJSON *list, const lampar_operand_info *operand) {
  cJSON *const entry = cJSON_CreateObject();
  if (entry == NULL || !cJSON_AddItemToArray(list, entry)) return false;
  return cJSON_AddStringToObject(entry, "name", operand->name) != NULL &&
         cJSON_AddStringToObject(entry, "dtype", lampar_dtype_name(operand->dtype)) != NULL &&
         cJSON_AddStringToObject(entry, "per", lampar_granularity_name(operand->granularity)) !=
             NULL &&
         cJSON_AddBoolToObject(entry, "output", operand->output != 0) != NULL &&
         cJSON_AddNumberToObject(entry, "group", operand->group) != NULL;
}

bool lampar_variant_to_json(cJSON *entry, const lampar_variant *variant) {
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  bool good = cJSON_AddStringToObject(entry, "name", name) != NULL;
  for (const lampar_variant_field *field = lampar_variant_fields; good && field->name != NULL;
       ++field)
    good = add_field(entry, variant, field);
  cJSON *const list = good ? cJSON_AddArrayToObject(entry, "operands") : NULL;
  good = list != NULL;
  for (uint32_t i = 0; good && i < variant->operand_count; ++i)
    good = add_operand(list, &variant->operands[i]);
  return good;
}

/* ---- reading ---- */

static const char *text_of(const cJSON *entry, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, name));
}

static bool read_number(const cJSON *item, double limit, uint64_t *value) {
  if (!cJSON_IsNumber(item)) return false;
  const double number = item->valuedouble;
  if (!(number >= 0 && number <= limit) || number != floor(number)) return false;
  *value = (uint64_t)number;
  return true;
}

static bool read_field(const cJSON *entry, lampar_variant *variant,
                       const lampar_variant_field *field) {
  const cJSON *const item = cJSON_GetObjectItemCaseSensitive(entry, field->name);
  const char *const text = cJSON_GetStringValue(item);
  uint64_t number;
  switch (field->kind) {
  case LAMPAR_FIELD_NUMBER:
  case LAMPAR_FIELD_SIZE:
    return read_number(item, 0x1p53, &number) && lampar_variant_set(variant, field, number);
  case LAMPAR_FIELD_FLAG:
    return cJSON_IsBool(item) && lampar_variant_set(variant, field, cJSON_IsTrue(item) != 0);
  case LAMPAR_FIELD_NAME:
  case LAMPAR_FIELD_TEXT: return text != NULL && lampar_variant_set_text(variant, field, text);
  }
  return false;
}

static bool read_operand(const cJSON *entry, lampar_operand_info *operand) {
  const char *const name = text_of(entry, "name"), *const dtype = text_of(entry, "dtype"),
                    *const per = text_of(entry, "per");
  const cJSON *const output = cJSON_GetObjectItemCaseSensitive(entry, "output");
  uint64_t group;
  if (name == NULL || strlen(name) >= sizeof operand->name || dtype == NULL || per == NULL ||
      !cJSON_IsBool(output) ||
      !read_number(cJSON_GetObjectItemCaseSensitive(entry, "group"), UINT32_MAX, &group))
    return false;
  *operand = (lampar_operand_info){.output = cJSON_IsTrue(output) != 0, .group = (uint32_t)group};
  memcpy(operand->name, name, strlen(name));
  return lampar_dtype_parse(dtype, &operand->dtype) &&
         lampar_granularity_parse(per, &operand->granularity);
}

static bool read_operands(const cJSON *list, lampar_variant *variant) {
  if (!cJSON_IsArray(list)) return false;
  const cJSON *entry;
  cJSON_ArrayForEach(entry, list) {
    if (variant->operand_count == LAMPAR_OPERANDS_MAX ||
        !read_operand(entry, &variant->operands[variant->operand_count++]))
      return false;
  }
  return true;
}

bool lampar_variant_from_json(const cJSON *entry, lampar_variant *variant) {
  *variant = (lampar_variant){0};
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field)
    if (!read_field(entry, variant, field)) return false;
  if (!read_operands(cJSON_GetObjectItemCaseSensitive(entry, "operands"), variant) ||
      !lampar_variant_is_valid(variant))
    return false;
  const char *const given = text_of(entry, "name");
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  return given != NULL && strcmp(name, given) == 0;
}
