/* A field of a variant cannot be forgotten: every form of it has all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack/pack_format.h"
#include "pack/variant_fields.h"
#include "plan/variant_json.h"

/* No field is 0, and no two bytes of neighbours are the same. */
static lampar_variant patterned(void) {
  lampar_variant variant = {0};
  unsigned char next = 1;
  for (size_t i = 0; i < offsetof(lampar_variant, operands); ++i)
    ((unsigned char *)&variant)[i] = next++;
  for (uint32_t i = 0; i < LAMPAR_OPERANDS_MAX; ++i) {
    lampar_operand_info *const operand = &variant.operands[i];
    snprintf(operand->name, sizeof operand->name, "operand_%u", i);
    *operand = (lampar_operand_info){
        .dtype = i + 100, .granularity = i + 200, .output = i + 300, .group = i + 400};
    snprintf(operand->name, sizeof operand->name, "operand_%u", i);
  }
  return variant;
}

/* The fields come first; operand_count and operands are all there is behind them. */
static void the_list_is_the_whole_struct(void **state) {
  (void)state;
  size_t end = 0;
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field)
    end = field->offset + field->size;
  assert_int_equal(end, offsetof(lampar_variant, operand_count));
  end += sizeof(uint32_t);
  assert_int_equal(end, offsetof(lampar_variant, operands));
  end += sizeof((lampar_variant *)0)->operands;
  assert_true(sizeof(lampar_variant) - end < sizeof(uint64_t));
}

static void a_record_keeps_every_field(void **state) {
  (void)state;
  const lampar_variant variant = patterned();
  lampar_pack_record record;
  memset(&record, 0xee, sizeof record);
  lampar_pack_record_from_variant(&record, &variant);
  lampar_variant read;
  memset(&read, 0x55, sizeof read);
  lampar_pack_record_to_variant(&record, &read);
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field)
    if (memcmp((const char *)&read + field->offset, (const char *)&variant + field->offset,
               field->size) != 0)
      fail_msg("%s differs", field->name);
  assert_int_equal(read.operand_count, variant.operand_count);
  assert_memory_equal(read.operands, variant.operands, sizeof read.operands);
}

/* What the last field is, and that all before it are there: its size is that of the format. */
static void a_record_has_a_place_for_every_field(void **state) {
  (void)state;
  size_t bytes = 0;
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field)
    bytes += field->size;
  bytes += sizeof(uint32_t) + sizeof((lampar_pack_record *)0)->operands; /* operand_count */
  bytes += offsetof(lampar_pack_record, arch);
  assert_int_equal(bytes, sizeof(lampar_pack_record));
}

static const lampar_variant valid = {
    .arch = 90,
    .algorithm = LAMPAR_TWOSHOT,
    .world = 8,
    .dtype = LAMPAR_F16,
    .epilogue = "bias+scaled",
    .hidden = 4096,
    .max_rows = 3,
    .max_bytes = 3 * 4096 * 2,
    .persistent = 1,
    .threads = 64,
    .cluster = 4,
    .vectors_per_warp = 2,
    .trigger = LAMPAR_TRIGGER_EXIT,
    .watchdog_ms = 77,
    .alignment = 16,
    .operand_count = 1,
    .operands = {{.name = "bias", .dtype = LAMPAR_F32, .granularity = LAMPAR_GRANULARITY_COLUMN}},
};

static void json_keeps_every_field(void **state) {
  (void)state;
  assert_true(lampar_variant_is_valid(&valid));
  cJSON *const entry = cJSON_CreateObject();
  assert_true(lampar_variant_to_json(entry, &valid));
  int count = 2; /* name and operands */
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field) {
    assert_non_null(cJSON_GetObjectItemCaseSensitive(entry, field->name));
    ++count;
  }
  assert_int_equal(cJSON_GetArraySize(entry), count);
  lampar_variant read;
  assert_true(lampar_variant_from_json(entry, &read));
  assert_memory_equal(&read, &valid, sizeof read);
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field) {
    cJSON *const item = cJSON_DetachItemFromObjectCaseSensitive(entry, field->name);
    assert_false(lampar_variant_from_json(entry, &read));
    cJSON_AddItemToObject(entry, field->name, item);
  }
  assert_true(lampar_variant_from_json(entry, &read));
  cJSON_Delete(entry);
}

static void values_that_do_not_fit_are_refused(void **state) {
  (void)state;
  lampar_variant variant = valid;
  char long_text[LAMPAR_EPILOGUE_BYTES + 1];
  memset(long_text, 'a', sizeof long_text);
  long_text[LAMPAR_EPILOGUE_BYTES] = '\0';
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field)
    switch (field->kind) {
    case LAMPAR_FIELD_NUMBER:
      assert_false(lampar_variant_set(&variant, field, 1ull << 32));
      assert_true(lampar_variant_set(&variant, field, UINT32_MAX));
      assert_int_equal(lampar_variant_get(&variant, field), UINT32_MAX);
      break;
    case LAMPAR_FIELD_SIZE:
      assert_true(lampar_variant_set(&variant, field, 1ull << 40));
      assert_int_equal(lampar_variant_get(&variant, field), 1ull << 40);
      break;
    case LAMPAR_FIELD_FLAG: assert_false(lampar_variant_set(&variant, field, 2)); break;
    case LAMPAR_FIELD_NAME:
      assert_false(lampar_variant_set_text(&variant, field, "no such name"));
      break;
    case LAMPAR_FIELD_TEXT:
      assert_false(lampar_variant_set_text(&variant, field, long_text));
      assert_true(lampar_variant_set_text(&variant, field, long_text + 1));
      assert_string_equal(lampar_variant_get_text(&variant, field), long_text + 1);
      break;
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_list_is_the_whole_struct),
      cmocka_unit_test(a_record_keeps_every_field),
      cmocka_unit_test(a_record_has_a_place_for_every_field),
      cmocka_unit_test(json_keeps_every_field),
      cmocka_unit_test(values_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
