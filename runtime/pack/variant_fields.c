#include "pack/variant_fields.h"

#include <assert.h>
#include <string.h>

#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"

/* The table's entry for each kind of LAMPAR_VARIANT_FIELDS. */
#define KIND_NUMBER    LAMPAR_FIELD_NUMBER
#define KIND_SIZE      LAMPAR_FIELD_SIZE
#define KIND_FLAG      LAMPAR_FIELD_FLAG
#define KIND_TEXT      LAMPAR_FIELD_TEXT
#define NAMES(word)    .name_of = lampar_##word##_name, .parse = lampar_##word##_parse
#define KIND_ARCH      LAMPAR_FIELD_NAME, NAMES(arch)
#define KIND_ALGORITHM LAMPAR_FIELD_NAME, NAMES(algorithm)
#define KIND_DTYPE     LAMPAR_FIELD_NAME, NAMES(dtype)
#define KIND_ROUNDING  LAMPAR_FIELD_NAME, NAMES(rounding)
#define KIND_TRIGGER   LAMPAR_FIELD_NAME, NAMES(trigger)

#define FIELD(type, field, field_kind)                                                             \
  {.name = #field,                                                                                 \
   .offset = offsetof(lampar_variant, field),                                                      \
   .size = sizeof(type),                                                                           \
   .kind = KIND_##field_kind},

const lampar_variant_field lampar_variant_fields[] = {LAMPAR_VARIANT_FIELDS(FIELD){0}};

uint64_t lampar_variant_get(const lampar_variant *variant, const lampar_variant_field *field) {
  const char *const at = (const char *)variant + field->offset;
  uint32_t number;
  uint64_t size;
  if (field->kind == LAMPAR_FIELD_SIZE) {
    memcpy(&size, at, sizeof size);
    return size;
  }
  assert(field->kind != LAMPAR_FIELD_TEXT);
  memcpy(&number, at, sizeof number);
  return number;
}

const char *lampar_variant_get_text(const lampar_variant *variant,
                                    const lampar_variant_field *field) {
  if (field->kind == LAMPAR_FIELD_TEXT) return (const char *)variant + field->offset;
  assert(field->kind == LAMPAR_FIELD_NAME);
  return field->name_of((uint32_t)lampar_variant_get(variant, field));
}

bool lampar_variant_set(lampar_variant *variant, const lampar_variant_field *field,
                        uint64_t value) {
  char *const at = (char *)variant + field->offset;
  const uint32_t number = (uint32_t)value;
  assert(field->kind != LAMPAR_FIELD_TEXT);
  if (field->kind == LAMPAR_FIELD_SIZE) {
    memcpy(at, &value, sizeof value);
    return true;
  }
  memcpy(at, &number, sizeof number);
  return value <= (field->kind == LAMPAR_FIELD_FLAG ? 1 : UINT32_MAX);
}

bool lampar_variant_set_text(lampar_variant *variant, const lampar_variant_field *field,
                             const char *text) {
  if (field->kind == LAMPAR_FIELD_TEXT) {
    const size_t length = strlen(text);
    if (length >= field->size) return false;
    memset((char *)variant + field->offset, 0, field->size);
    memcpy((char *)variant + field->offset, text, length);
    return true;
  }
  assert(field->kind == LAMPAR_FIELD_NAME);
  uint32_t number;
  return field->parse(text, &number) && lampar_variant_set(variant, field, number);
}
