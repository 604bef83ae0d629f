/* The fields of a variant as a table, for code that handles each of them alike. */
#ifndef LAMPAR_VARIANT_FIELDS_H
#define LAMPAR_VARIANT_FIELDS_H

#include "pack/variant.h"

typedef enum lampar_field_kind {
  LAMPAR_FIELD_NUMBER, /* uint32_t */
  LAMPAR_FIELD_SIZE,   /* uint64_t */
  LAMPAR_FIELD_FLAG,   /* uint32_t, 0 or 1 */
  LAMPAR_FIELD_NAME,   /* uint32_t, a value of an enum that files write by its name */
  LAMPAR_FIELD_TEXT,   /* characters, ended by a 0 */
} lampar_field_kind;

typedef struct lampar_variant_field {
  const char *name;
  lampar_field_kind kind;
  size_t offset, size;
  const char *(*name_of)(uint32_t value); /* of NAME */
  bool (*parse)(const char *name, uint32_t *value);
} lampar_variant_field;

/* In the order of LAMPAR_VARIANT_FIELDS; a NULL name ends the list. */
extern const lampar_variant_field lampar_variant_fields[];

/* The value of any field but TEXT. */
uint64_t lampar_variant_get(const lampar_variant *variant, const lampar_variant_field *field);

/* The text of NAME and TEXT; NULL: not a value of the enum. */
const char *lampar_variant_get_text(const lampar_variant *variant,
                                    const lampar_variant_field *field);

/* False: `value` does not fit, or is neither 0 nor 1 of a FLAG. */
bool lampar_variant_set(lampar_variant *variant, const lampar_variant_field *field, uint64_t value);

/* For NAME and TEXT. False: not a name of the enum, or too long. */
bool lampar_variant_set_text(lampar_variant *variant, const lampar_variant_field *field,
                             const char *text);

#endif
