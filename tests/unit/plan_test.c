/* A spec to variants, and the plan as JSON and in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "error.h"
#include "plan.h"
#include "scratch.h"

static lampar_status plan_text(const char *text, lampar_spec *spec, lampar_plan *plan) {
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES];
  scratch_write(&s, "x.lua", text, strlen(text), path);
  lampar_files read = {0};
  if (lampar_spec_read(path, spec, &read) != LAMPAR_OK) fail_msg("%s", lampar_last_error());
  lampar_files_free(&read);
  scratch_close(&s);
  return lampar_plan_make(spec, LAMPAR_TEMPLATES, plan, NULL);
}

/* The plan of a spec with these fields besides name. */
static void make(const char *fields, lampar_plan *plan) {
  char text[2048];
  snprintf(text, sizeof text, "return spec { name = 'x', %s }", fields);
  lampar_spec spec;
  if (plan_text(text, &spec, plan) != LAMPAR_OK) fail_msg("%s", lampar_last_error());
  lampar_spec_free(&spec);
}

static void refused(const char *fields, const char *message) {
  char text[2048];
  snprintf(text, sizeof text, "return spec { name = 'x', %s }", fields);
  lampar_spec spec;
  lampar_plan plan;
  assert_int_equal(plan_text(text, &spec, &plan), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
  assert_int_equal(plan.variant_count, 0);
  lampar_spec_free(&spec);
}

static void has_name(const lampar_plan *plan, size_t index, const char *expected) {
  char name[LAMPAR_NAME_BYTES];
  assert_true(index < plan->variant_count);
  lampar_variant_name(&plan->variants[index], name);
  assert_string_equal(name, expected);
}

#define ONE "arch = { 'sm_90' }, world = { 2 }, dtype = { 'bf16' }"

/* The numbers of geometry.lua are measured and change; what they must make does not. */
static void test_variants(void **state) {
  (void)state;
  lampar_plan plan;
  make(ONE ", hidden = { 7168 }, rows = 1000000, watchdog_ms = 7", &plan);
  assert_string_equal(plan.name, "x");
  assert_true(plan.needs_nvlink);
  assert_int_equal(plan.variant_count, 4);
  has_name(&plan, 1, "ar_oneshot_w2_bf16_flat_sm_90");
  has_name(&plan, 3, "ar_oneshot_w2_bf16_h7168_sm_90");
  assert_int_equal(plan.variants[1].bytes_limit, 1000000ull * 7168 * 2);
  assert_int_equal(plan.variants[3].bytes_limit, 1000000ull * 7168 * 2);
  assert_int_equal(plan.variants[3].rows_limit, 1000000);
  for (size_t i = 0; i < 4; ++i) {
    const lampar_variant *variant = &plan.variants[i];
    assert_true(lampar_variant_is_valid(variant));
    assert_int_equal(variant->looping, i % 2);
    assert_int_equal(variant->trigger, LAMPAR_TRIGGER_EARLY);
    assert_int_equal(variant->watchdog_ms, 7);
    assert_int_equal(variant->bytes_limit % LAMPAR_MAILBOX_BYTES, 0);
    if (i >= 2) assert_int_equal(variant->bytes_limit, variant->rows_limit * 7168ull * 2);
  }
  assert_true(plan.variants[0].bytes_limit < plan.variants[1].bytes_limit);
  assert_true(plan.variants[2].rows_limit < plan.variants[3].rows_limit);
  lampar_plan_free(&plan);
}

static void test_limits(void **state) {
  (void)state;
  lampar_plan plan;
  /* The straight kernel takes all; the looping one is there for a device that ranks share. */
  make(ONE ", hidden = { 64 }, rows = 4", &plan);
  assert_int_equal(plan.variant_count, 4);
  has_name(&plan, 0, "ar_oneshot_w2_bf16_flat_sm_90_b512");
  has_name(&plan, 1, "ar_oneshot_w2_bf16_flat_sm_90");
  has_name(&plan, 2, "ar_oneshot_w2_bf16_h64_sm_90_r4");
  has_name(&plan, 3, "ar_oneshot_w2_bf16_h64_sm_90");
  assert_int_equal(plan.variants[1].bytes_limit, 512);
  assert_int_equal(plan.variants[3].rows_limit, 4);
  lampar_plan_free(&plan);
  /* 2880 x 2 bytes are 11.25 mailboxes, 12 a row. */
  make(ONE ", hidden = { 2880 }, rows = 1000", &plan);
  assert_int_equal(lampar_plan_mailboxes(&plan, 2), 12000);
  assert_int_equal(lampar_plan_mailboxes(&plan, 3), 0);
  lampar_plan_free(&plan);
  make("arch = { 'sm_90' }, world = { 2 }, dtype = { 'f32', 'bf16' }, hidden = { 64 }, rows = 4",
       &plan);
  assert_int_equal(plan.variants[1].bytes_limit, 512);
  assert_int_equal(plan.variants[5].bytes_limit, 1024);
  lampar_plan_free(&plan);
  make(ONE, &plan);
  assert_int_equal(plan.variant_count, 2);
  assert_int_equal(plan.variants[1].bytes_limit, 1 << 20);
  lampar_plan_free(&plan);
}

static void test_order(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_120', 'sm_80' }, world = { 8, 2 }, dtype = { 'f32', 'bf16' }, hidden = { 128, "
       "64 }",
       &plan);
  assert_int_equal(plan.variant_count, 2 * 2 * 2 * 3 * 2);
  for (size_t i = 1; i < plan.variant_count; ++i)
    assert_true(lampar_variant_compare(&plan.variants[i - 1], &plan.variants[i]) < 0);
  lampar_plan_free(&plan);
}

static void test_trigger(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_89', 'sm_90' }, world = { 2 }, dtype = { 'bf16' }, pdl = 'exit', "
       "topology = { link = 'any' }",
       &plan);
  assert_false(plan.needs_nvlink);
  assert_int_equal(plan.variants[0].trigger, LAMPAR_TRIGGER_OFF);
  assert_int_equal(plan.variants[2].trigger, LAMPAR_TRIGGER_EXIT);
  lampar_plan_free(&plan);
}

static void has_skip(const lampar_plan *plan, size_t index, const char *what, const char *why) {
  assert_true(index < plan->skip_count);
  assert_string_equal(plan->skips[index].what, what);
  assert_string_equal(plan->skips[index].why, why);
}

static void test_dropped(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_90' }, world = { 2 }, dtype = { 'bf16' }, "
       "hidden = { model 'deepseek-v3', model 'kimi-k3', 7168, 3584 }",
       &plan);
  assert_int_equal(plan.variant_count, 6);
  assert_int_equal(plan.skip_count, 3);
  has_skip(&plan, 0, "hidden 7168 of model kimi-k3",
           "the same kernels as hidden 7168 of model deepseek-v3");
  has_skip(&plan, 1, "hidden 7168 of the list",
           "the same kernels as hidden 7168 of model deepseek-v3");
  has_skip(&plan, 2, "hidden 3584 of the list", "the same kernels as hidden 3584 of model kimi-k3");
  lampar_plan_free(&plan);
  make(ONE ", hidden = { 65536 }, rows = 100000000, bytes = 1024", &plan);
  assert_int_equal(plan.variant_count, 3);
  assert_int_equal(plan.skip_count, 1);
  has_skip(&plan, 0, "ar_oneshot_w2_bf16_h65536_sm_90",
           "takes 25600000000 mailboxes, a kernel counts to 2147483647; ask for fewer rows");
  lampar_plan_free(&plan);
}

static void test_refused(void **state) {
  (void)state;
  refused("arch = { 'sm_80', 'sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_120' }, "
          "world = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, "
          "dtype = { 'bf16', 'f16', 'f32' }, hidden = { 8, 16, 24, 32, 40, 48, 56, 64 }",
          "x: asks for 4860 kernels, from 6 archs x 15 worlds x 3 dtypes x (8 hidden sizes + 1 "
          "flat); a "
          "pack holds 4096, make several specs");
  refused(
      "arch = { 'sm_90' }, world = { 2 }, dtype = { 'bf16' }, hidden = (function() local list = {} "
      "for i = 1, 8192 do list[i] = 8 * i end return list end)()",
      "x: asks for 8193 kernels or more, from 1 archs x 1 worlds x 1 dtypes x (8192 hidden sizes + "
      "1 "
      "flat); a pack holds 4096, make several specs");
}

/* ---- JSON ---- */

static void json_of(const char *fields, char **text) {
  lampar_plan plan;
  make(fields, &plan);
  assert_int_equal(lampar_plan_to_json(&plan, text), LAMPAR_OK);
  lampar_plan_free(&plan);
}

#define EXAMPLE                                                                                    \
  "arch = { 'sm_90', 'sm_80' }, world = { 8, 2 }, dtype = { 'f32', 'bf16' }, "                     \
  "hidden = { 2880, model 'gpt-oss-20b' }"

static void test_json_twice(void **state) {
  (void)state;
  char *first, *second;
  json_of(EXAMPLE, &first);
  json_of(EXAMPLE, &second);
  assert_string_equal(first, second);
  lampar_plan plan;
  if (lampar_plan_from_json("plan.json", first, &plan) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  free(second);
  assert_int_equal(lampar_plan_to_json(&plan, &second), LAMPAR_OK);
  assert_string_equal(first, second);
  assert_int_equal(plan.skip_count, 1);
  assert_int_equal(plan.variant_count, 32);
  lampar_plan_free(&plan);
  free(first);
  free(second);
}

/* Replaces the first `from` of the example's JSON. */
static void damaged(const char *from, const char *to, const char *message) {
  char *text;
  json_of(EXAMPLE, &text);
  const char *found = strstr(text, from);
  assert_non_null(found);
  const int before = (int)(found - text);
  char *changed;
  assert_true(asprintf(&changed, "%.*s%s%s", before, text, to, text + before + strlen(from)) > 0);
  lampar_plan plan;
  assert_int_equal(lampar_plan_from_json("plan.json", changed, &plan), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
  assert_int_equal(plan.variant_count, 0);
  free(changed);
  free(text);
}

#define NOT_OURS "plan.json: not a plan that this lampar wrote: "
#define AGAIN    "; make it again with `lampar plan SPEC --json`"

static void test_json_damaged(void **state) {
  (void)state;
  damaged("{", "[", NOT_OURS "it is not JSON" AGAIN);
  damaged("schema_version", "schema", NOT_OURS "it has no schema_version" AGAIN);
  damaged("\"schema_version\":\t1", "\"schema_version\":\t2",
          "plan.json: a plan of schema 2, this lampar reads 1" AGAIN);
  damaged("\"name\":\t\"x\"", "\"name\":\t7", NOT_OURS "name or needs_nvlink is missing" AGAIN);
  damaged("\"kernels\"", "\"kernel\"", NOT_OURS "its lists are missing, empty or too long" AGAIN);
  const char *field = NOT_OURS "a kernel's fields are damaged or do not make its name" AGAIN;
  damaged("\"arch\":\t\"sm_80\"", "\"arch\":\t\"sm_81\"", field);
  damaged("\"world\":\t2", "\"world\":\t3", field);
  damaged("\"world\":\t2", "\"world\":\t-2", field);
  damaged("\"world\":\t2", "\"world\":\t2.5", field);
  damaged("\"dtype\":\t\"bf16\"", "\"dtype\":\t\"i8\"", field);
  damaged("\"trigger\":\t\"off\"", "\"trigger\":\t\"on\"", field);
  damaged("\"why\"", "\"because\"", NOT_OURS "an entry of skipped is damaged" AGAIN);
  damaged("\"threads\":\t", "\"threads\":\t1", field);
  damaged("\"hidden\":\t0", "\"more\":\t1, \"hidden\":\t0",
          "plan.json:10: not what this lampar writes for such a plan" AGAIN);
}

static void test_json_truncated(void **state) {
  (void)state;
  char *text;
  json_of(ONE, &text);
  for (size_t length = strlen(text) - 1; length > 0; --length) {
    text[length] = '\0';
    lampar_plan plan;
    assert_int_equal(lampar_plan_from_json("plan.json", text, &plan), LAMPAR_ERROR_ARGUMENT);
  }
  free(text);
}

static void test_json_file(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES];
  char *text;
  json_of(EXAMPLE, &text);
  scratch_write(&s, "plan.json", text, strlen(text), path);
  lampar_plan plan;
  assert_int_equal(lampar_plan_read(path, &plan), LAMPAR_OK);
  assert_int_equal(plan.variant_count, 32);
  lampar_plan_free(&plan);
  scratch_write(&s, "plan.json", text, strlen(text) + 1, path);
  assert_int_equal(lampar_plan_read(path, &plan), LAMPAR_ERROR_ARGUMENT);
  assert_int_equal(lampar_plan_read("/nowhere/plan.json", &plan), LAMPAR_ERROR_SYSTEM);
  assert_string_equal(lampar_last_error(),
                      "/nowhere/plan.json: cannot be read: No such file or directory");
  free(text);
  scratch_close(&s);
}

static void test_explain(void **state) {
  (void)state;
  lampar_spec spec;
  lampar_plan plan;
  assert_int_equal(
      plan_text("return spec { name = 'x', arch = { 'sm_90' }, world = { 4 }, "
                "dtype = { 'bf16' }, hidden = { 4096, model 'llama-3.1-8b' }, rows = 8 }",
                &spec, &plan),
      LAMPAR_OK);
  char *text;
  assert_int_equal(lampar_plan_explain(&spec, &plan, &text), LAMPAR_OK);
  static const char *const parts[] = {
      "  hidden       4096, 4096 (llama-3.1-8b)\n",
      "\ndefaults taken\n  bytes = rows x largest hidden x element size\n",
      "\n4 kernels\n",
      "  ar_oneshot_w4_bf16_h4096_sm_90_r8                straight, 128 threads, up to 8 rows\n",
      "\ndropped\n  hidden 4096 of model llama-3.1-8b: the same kernels as hidden 4096 of the "
      "list\n",
      "\nworkspace of each rank\n  world 4   524800 bytes (0.5 MiB), 128 mailboxes\n"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    if (!strstr(text, parts[i])) fail_msg("missing: %s\nin: %s", parts[i], text);
  free(text);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_variants),       cmocka_unit_test(test_limits),
      cmocka_unit_test(test_order),          cmocka_unit_test(test_trigger),
      cmocka_unit_test(test_dropped),        cmocka_unit_test(test_refused),
      cmocka_unit_test(test_json_twice),     cmocka_unit_test(test_json_damaged),
      cmocka_unit_test(test_json_truncated), cmocka_unit_test(test_json_file),
      cmocka_unit_test(test_explain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
