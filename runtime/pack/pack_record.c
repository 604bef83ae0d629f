#include <string.h>

#include "pack/pack_format.h"

#define COPY(to, from)                                                                             \
  do {                                                                                             \
    _Static_assert(sizeof(to) == sizeof(from), #to " has another size in the file");               \
    memcpy(&(to), &(from), sizeof(to));                                                            \
  } while (0)

void lampar_pack_record_from_variant(lampar_pack_record *record, const lampar_variant *variant) {
#define FIELD(type, name, kind) COPY(record->name, variant->name);
  LAMPAR_VARIANT_FIELDS(FIELD)
#undef FIELD
  COPY(record->operand_count, variant->operand_count);
  for (uint32_t i = 0; i < LAMPAR_OPERANDS_MAX; ++i) {
    lampar_pack_operand *const to = &record->operands[i];
    const lampar_operand_info *const from = &variant->operands[i];
    COPY(to->name, from->name);
    COPY(to->dtype, from->dtype);
    COPY(to->granularity, from->granularity);
    COPY(to->output, from->output);
    COPY(to->group, from->group);
  }
}

void lampar_pack_record_to_variant(const lampar_pack_record *record, lampar_variant *variant) {
  *variant = (lampar_variant){0};
#define FIELD(type, name, kind) COPY(variant->name, record->name);
  LAMPAR_VARIANT_FIELDS(FIELD)
#undef FIELD
  COPY(variant->operand_count, record->operand_count);
  for (uint32_t i = 0; i < LAMPAR_OPERANDS_MAX; ++i) {
    lampar_operand_info *const to = &variant->operands[i];
    const lampar_pack_operand *const from = &record->operands[i];
    COPY(to->name, from->name);
    COPY(to->dtype, from->dtype);
    COPY(to->granularity, from->granularity);
    COPY(to->output, from->output);
    COPY(to->group, from->group);
  }
}

_Static_assert(sizeof((lampar_pack_record){0}.operands) / sizeof(lampar_pack_operand) ==
                   LAMPAR_OPERANDS_MAX,
               "a record holds the operands of a variant");
_Static_assert(sizeof((lampar_pack_record){0}.name) == LAMPAR_NAME_BYTES,
               "a record holds the name of a variant");
