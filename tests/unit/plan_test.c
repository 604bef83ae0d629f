/* A spec to variants, and the plan as JSON and in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "pack/arch.h"
#include "plan/plan.h"
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

static void has_skip(const lampar_plan *plan, size_t index, const char *what, const char *why) {
  assert_true(index < plan->skip_count);
  assert_string_equal(plan->skips[index].what, what);
  assert_string_equal(plan->skips[index].why, why);
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
  assert_int_equal(plan.variants[1].max_bytes, 1000000ull * 7168 * 2);
  assert_int_equal(plan.variants[3].max_bytes, 1000000ull * 7168 * 2);
  assert_int_equal(plan.variants[3].max_rows, 1000000);
  for (size_t i = 0; i < 4; ++i) {
    const lampar_variant *variant = &plan.variants[i];
    assert_true(lampar_variant_is_valid(variant));
    assert_int_equal(variant->persistent, i % 2);
    assert_int_equal(variant->trigger, LAMPAR_TRIGGER_EARLY);
    assert_int_equal(variant->watchdog_ms, 7);
    assert_int_equal(variant->max_bytes % LAMPAR_MAILBOX_BYTES, 0);
    if (i >= 2) assert_int_equal(variant->max_bytes, variant->max_rows * 7168ull * 2);
  }
  assert_true(plan.variants[0].max_bytes < plan.variants[1].max_bytes);
  assert_true(plan.variants[2].max_rows < plan.variants[3].max_rows);
  lampar_plan_free(&plan);
}

static void test_limits(void **state) {
  (void)state;
  lampar_plan plan;
  /* The single-pass kernel takes all; the persistent one is there for a device that ranks share. */
  make(ONE ", hidden = { 64 }, rows = 4", &plan);
  assert_int_equal(plan.variant_count, 4);
  has_name(&plan, 0, "ar_oneshot_w2_bf16_flat_sm_90_b512");
  has_name(&plan, 1, "ar_oneshot_w2_bf16_flat_sm_90");
  has_name(&plan, 2, "ar_oneshot_w2_bf16_h64_sm_90_r4");
  has_name(&plan, 3, "ar_oneshot_w2_bf16_h64_sm_90");
  assert_int_equal(plan.variants[1].max_bytes, 512);
  assert_int_equal(plan.variants[3].max_rows, 4);
  lampar_plan_free(&plan);
  /* 2880 x 2 bytes are 11.25 mailboxes, 12 a row. */
  make(ONE ", hidden = { 2880 }, rows = 1000", &plan);
  assert_int_equal(lampar_plan_mailboxes(&plan, 2), 12000);
  assert_int_equal(lampar_plan_mailboxes(&plan, 3), 0);
  lampar_plan_free(&plan);
  make("arch = { 'sm_90' }, world = { 2 }, dtype = { 'f32', 'bf16' }, hidden = { 64 }, rows = 4",
       &plan);
  assert_int_equal(plan.variants[1].max_bytes, 512);
  assert_int_equal(plan.variants[5].max_bytes, 1024);
  lampar_plan_free(&plan);
  make(ONE, &plan);
  assert_int_equal(plan.variant_count, 2);
  assert_int_equal(plan.variants[1].max_bytes, 1 << 20);
  lampar_plan_free(&plan);
}

/* ---- epilogues; what stage files declare is stages_test's ---- */

/* Cluster, warps of a block and vectors of a warp, for so many vectors of a row. */
static void has_shape(uint32_t arch, uint32_t row_vectors, uint32_t rows, uint32_t cluster,
                      uint32_t warps, uint32_t vectors) {
  char fields[512];
  snprintf(fields, sizeof fields,
           "arch = { '%s' }, world = { 2 }, dtype = { 'bf16' }, hidden = { %u }, rows = %u, "
           "epilogue = { { 'residual' } }",
           lampar_arch_name(arch), row_vectors * 256, rows);
  lampar_plan plan;
  make(fields, &plan);
  size_t found = 0;
  while (found < plan.variant_count &&
         (plan.variants[found].algorithm != LAMPAR_ONESHOT ||
          plan.variants[found].epilogue[0] == '\0' || plan.variants[found].max_rows < rows))
    ++found;
  assert_true(found < plan.variant_count);
  const lampar_variant *variant = &plan.variants[found];
  assert_true(lampar_variant_is_valid(variant));
  if (variant->cluster != cluster || variant->threads != warps * 32 ||
      variant->vectors_per_warp != vectors)
    fail_msg("%u vectors, %u rows: %u x %u warps x %u, not %u x %u x %u", row_vectors, rows,
             variant->cluster, variant->threads / 32, variant->vectors_per_warp, cluster, warps,
             vectors);
  lampar_plan_free(&plan);
}

static void test_fused_shapes(void **state) {
  (void)state;
  static const struct {
    uint32_t row_vectors, cluster, warps, vectors;
  } shapes[] = {{28, 7, 4, 1},  {12, 3, 4, 1}, {16, 4, 4, 1},  {20, 5, 4, 1},  {32, 8, 4, 1},
                {64, 8, 8, 1},  {56, 8, 7, 1}, {11, 1, 11, 1}, {13, 1, 13, 1}, {256, 8, 32, 1},
                {1, 1, 1, 1},   {4, 1, 4, 1},  {8, 2, 4, 1},   {10, 2, 5, 1},  {22, 2, 11, 1},
                {37, 1, 19, 2}, {74, 2, 19, 2}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    has_shape(90, shapes[i].row_vectors, 8, shapes[i].cluster, shapes[i].warps, shapes[i].vectors);
  has_shape(90, 28, 129, 1, 28, 1); /* many rows fill the device with a block each */
  has_shape(90, 64, 129, 8, 8, 1);  /* too long for a block of one vector a warp */
  has_shape(80, 28, 8, 1, 28, 1);   /* no clusters */
  has_shape(89, 64, 8, 1, 32, 2);
  has_shape(120, 28, 8, 7, 4, 1);
}

/* Every hidden size that specs allow: valid, and no lane without a vector but in the last warps. */
static void test_every_length(void **state) {
  (void)state;
  for (uint32_t row_vectors = 1; row_vectors <= 256; row_vectors += row_vectors < 64 ? 1 : 7) {
    char fields[512];
    snprintf(fields, sizeof fields,
             "arch = { 'emu', 'sm_80', 'sm_90' }, world = { 2, 3 }, dtype = { 'f32' }, hidden = { "
             "%u }, rows = 600, epilogue = { { 'residual' } }",
             row_vectors * 128);
    lampar_plan plan;
    make(fields, &plan);
    for (size_t i = 0; i < plan.variant_count; ++i) {
      const lampar_variant *variant = &plan.variants[i];
      assert_true(lampar_variant_is_valid(variant));
      const uint32_t warps = variant->cluster * variant->threads / 32;
      assert_true(warps * (variant->vectors_per_warp - 1) < row_vectors);
    }
    lampar_plan_free(&plan);
  }
}

static void test_epilogue_only(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_90' }, world = { 2, 8 }, dtype = { 'bf16' }, hidden = { 7168 }, rows = 4, "
       "watchdog_ms = 5, epilogue = { { 'residual', 'rmsnorm' } }",
       &plan);
  has_name(&plan, 0, "ep_residual_rmsnorm_bf16_h7168_sm_90");
  has_name(&plan, 3, "ar_oneshot_w2_bf16_h7168_sm_90_r4");
  has_name(&plan, 5, "ar_oneshot_w2_residual_rmsnorm_bf16_h7168_sm_90_r4");
  has_name(&plan, 6, "ar_oneshot_w2_residual_rmsnorm_bf16_h7168_sm_90");
  has_name(&plan, 11, "ar_oneshot_w8_residual_rmsnorm_bf16_h7168_sm_90_r4");
  assert_int_equal(plan.variant_count, 13); /* plain ones as well */
  const lampar_variant *epilogue_only = &plan.variants[0];
  assert_true(lampar_variant_is_valid(epilogue_only));
  assert_int_equal(epilogue_only->algorithm, LAMPAR_EPILOGUE_ONLY);
  assert_int_equal(epilogue_only->world, 1);
  assert_int_equal(epilogue_only->persistent, 1);
  assert_int_equal(epilogue_only->watchdog_ms, 0);
  assert_true(epilogue_only->max_rows > 1000000); /* NCCL's calls have no limit */
  assert_int_equal(lampar_plan_mailboxes(&plan, 1), 0);
  lampar_plan_free(&plan);
}

/* Limits are in the order of the plan: a call takes the first kernel that is large enough. */
static void test_twoshot(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_90' }, world = { 8 }, dtype = { 'bf16' }, hidden = { 7168 }, rows = 1000",
       &plan);
  has_name(&plan, 0, "ar_oneshot_w8_bf16_flat_sm_90_b131072");
  has_name(&plan, 1, "ar_oneshot_w8_bf16_flat_sm_90");
  has_name(&plan, 2, "ar_twoshot_w8_bf16_flat_sm_90_b4194304");
  has_name(&plan, 3, "ar_twoshot_w8_bf16_flat_sm_90");
  has_name(&plan, 4, "ar_oneshot_w8_bf16_h7168_sm_90_r9");
  has_name(&plan, 5, "ar_oneshot_w8_bf16_h7168_sm_90");
  has_name(&plan, 6, "ar_twoshot_w8_bf16_h7168_sm_90_r292");
  has_name(&plan, 7, "ar_twoshot_w8_bf16_h7168_sm_90");
  assert_int_equal(plan.variant_count, 8);
  assert_int_equal(plan.variants[5].max_rows, 9);
  assert_int_equal(plan.variants[7].max_rows, 1000);
  assert_int_equal(lampar_plan_mailboxes(&plan, 8), 28000);
  lampar_plan_free(&plan);

  static const struct {
    const char *arch;
    uint32_t world;
    uint64_t kib;
  } limits[] = {{"sm_90", 3, 1280}, {"sm_90", 4, 384},  {"sm_80", 5, 192},   {"sm_120", 6, 128},
                {"sm_90", 16, 128}, {"sm_90", 9, 128},  {"sm_100", 4, 1152}, {"sm_103", 3, 1152},
                {"sm_100", 8, 512}, {"sm_100", 16, 256}};
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
    char fields[256];
    snprintf(fields, sizeof fields,
             "arch = { '%s' }, world = { %u }, dtype = { 'bf16' }, bytes = 1 << 24", limits[i].arch,
             limits[i].world);
    make(fields, &plan);
    assert_int_equal(plan.variants[1].algorithm, LAMPAR_ONESHOT);
    assert_int_equal(plan.variants[1].max_bytes, limits[i].kib << 10);
    assert_int_equal(plan.variants[2].algorithm, LAMPAR_TWOSHOT);
    assert_int_equal(plan.variants[plan.variant_count - 1].max_bytes, 1 << 24);
    lampar_plan_free(&plan);
  }
  make("arch = { 'sm_90' }, world = { 2 }, dtype = { 'bf16' }, bytes = 1 << 24", &plan);
  assert_int_equal(plan.variant_count, 2); /* two ranks: never */
  lampar_plan_free(&plan);
}

static void test_fp32_rounding(void **state) {
  (void)state;
  lampar_plan plan;
  make("arch = { 'sm_90' }, world = { 4, 8 }, dtype = { 'bf16' }, hidden = { 7168 }, rows = 1000, "
       "rounding = 'fp32', epilogue = { {}, { 'residual' } }",
       &plan);
  for (size_t i = 0; i < plan.variant_count; ++i) {
    const lampar_variant *variant = &plan.variants[i];
    const bool is_fused = variant->epilogue[0] != '\0';
    assert_int_equal(variant->rounding, is_fused);
    if (is_fused) assert_int_not_equal(variant->algorithm, LAMPAR_TWOSHOT);
  }
  has_skip(&plan, 0, "two-shot of epilogue residual",
           "with rounding = \"fp32\" no rounded sum may travel between ranks; one-shot takes the "
           "calls of every size");
  assert_int_equal(plan.skip_count, 1);
  lampar_plan_free(&plan);
}

static void test_same_epilogues(void **state) {
  (void)state;
  refused(ONE ", hidden = { 64 }, epilogue = { { 'rmsnorm' }, { { 'rmsnorm', offset = 0 } } }",
          "x: two entries of epilogue mean the same, rmsnorm; leave one out");
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
  refused(
      "arch = { 'sm_80', 'sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_120' }, "
      "world = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, "
      "dtype = { 'bf16', 'f16', 'f32' }, hidden = { 8, 16, 24, 32, 40, 48, 56, 64 }, "
      "epilogue = { {}, { 'residual' } }",
      "x: asks for 4860 kernels or more, from 6 archs x 15 worlds x 3 dtypes x (8 hidden sizes + "
      "1 flat) x 2 epilogues; a pack holds 4096, make several specs");
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
  assert_int_equal(plan.variant_count, 48);
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
#define AGAIN    "; create it again with `lampar plan SPEC --json`"

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
          "plan.json:13: not what this lampar writes for such a plan" AGAIN);
}

#define FUSED                                                                                      \
  ONE ", hidden = { 7168 }, rows = 4, epilogue = { { { 'rmsnorm', weight = 'f32' }, 'fp8_static' " \
      "} }"

static void changed(const char *from, const char *to, char **text) {
  char *whole;
  json_of(FUSED, &whole);
  const char *found = strstr(whole, from);
  assert_non_null(found);
  assert_true(asprintf(text, "%.*s%s%s", (int)(found - whole), whole, to, found + strlen(from)) >
              0);
  free(whole);
}

static void test_json_fused(void **state) {
  (void)state;
  char *text;
  json_of(FUSED, &text);
  lampar_plan plan;
  assert_int_equal(lampar_plan_from_json("plan.json", text, &plan), LAMPAR_OK);
  assert_string_equal(plan.variants[5].epilogue, "rmsnorm.weight_f32+fp8_static");
  assert_int_equal(plan.variants[5].cluster, 7);
  assert_int_equal(plan.variants[5].operand_count, 4);
  assert_string_equal(plan.variants[5].operands[3].name, "scale");
  assert_int_equal(plan.variants[5].operands[0].dtype, LAMPAR_F32);
  lampar_plan_free(&plan);
  free(text);

  /* Another geometry that holds the row is a plan as well; one that does not is none. */
  static const char shape[] =
      "\"threads\":\t128,\n\t\t\t\"cluster\":\t7,\n\t\t\t\"vectors_per_warp\":\t1";
  changed(shape, "\"threads\":\t32,\n\t\t\t\"cluster\":\t4,\n\t\t\t\"vectors_per_warp\":\t7",
          &text);
  assert_int_equal(lampar_plan_from_json("plan.json", text, &plan), LAMPAR_OK);
  assert_int_equal(plan.variants[5].cluster, 4);
  assert_int_equal(plan.variants[5].vectors_per_warp, 7);
  lampar_plan_free(&plan);
  free(text);
  const char *const wrong[][2] = {
      {shape, "\"threads\":\t32,\n\t\t\t\"cluster\":\t4,\n\t\t\t\"vectors_per_warp\":\t6"},
      {"\"algorithm\":\t\"epilogue_only\"", "\"algorithm\":\t\"threeshot\""},
      {"\"rounding\":\t\"unfused\"", "\"rounding\":\t\"fp16\""},
      {"\"dtype\":\t\"f8e4m3\"", "\"dtype\":\t\"fp8\""},
      {"\"per\":\t\"call\"", "\"per\":\t\"cell\""},
      {"\"output\":\tfalse", "\"output\":\t0"},
      {"\"group\":\t0", "\"group\":\t1"},
      {"\"name\":\t\"eps\"", "\"name\":\t\"weight\""},
      {"\"epilogue\":\t\"rmsnorm", "\"epilogue\":\t\"norm"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    changed(wrong[i][0], wrong[i][1], &text);
    assert_int_equal(lampar_plan_from_json("plan.json", text, &plan), LAMPAR_ERROR_ARGUMENT);
    assert_string_equal(lampar_last_error(),
                        NOT_OURS "a kernel's fields are damaged or do not make its name" AGAIN);
    free(text);
  }
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
  assert_int_equal(plan.variant_count, 48);
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
      "  ar_oneshot_w4_bf16_h4096_sm_90_r8     single-pass, 128 threads, up to 8 rows\n",
      ("\ndropped\n  hidden 4096 of model llama-3.1-8b: the same kernels as hidden 4096 of the "
       "list\n"),
      "\nworkspace of each rank\n  world 4   524800 bytes (0.5 MiB), 128 mailboxes\n"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    if (!strstr(text, parts[i])) fail_msg("missing: %s\nin: %s", parts[i], text);
  free(text);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
}

static void test_explain_epilogues(void **state) {
  (void)state;
  lampar_spec spec;
  lampar_plan plan;
  assert_int_equal(
      plan_text("return spec { name = 'x', arch = { 'sm_90' }, world = { 8 }, dtype = { "
                "'bf16' }, hidden = { 7168, 2880 }, rows = 64, epilogue = { {}, { "
                "'residual', { 'fp8_group', scale = 'ue8m0' } } } }",
                &spec, &plan),
      LAMPAR_OK);
  char *text;
  assert_int_equal(lampar_plan_explain(&spec, &plan, &text), LAMPAR_OK);
  static const char *const parts[] = {
      "  epilogue     none, residual+fp8_group.scale=ue8m0\n  rounding     unfused\n",
      "  rounding = \"unfused\"\n  weight_dtype = \"same\"\n",
      "single-pass, 7 x 128 threads, up to 9 rows\n",
      "\noperands\n  residual+fp8_group.scale_ue8m0\n"
      "    residual         in   bf16     per element\n",
      "    scale            out  u32      per group of 128\n",
      "\ntwo-shot\n  ar_twoshot_w8_bf16_flat_sm_90_b917504                              for calls "
      "of more than "
      "131072 "
      "bytes\n",
      "  ar_twoshot_w8_residual_fp8_group_scale_ue8m0_bf16_h7168_sm_90_r64  for calls of more than "
      "9 "
      "rows\n",
      "\ndropped\n  epilogue residual+fp8_group.scale=ue8m0, bf16, hidden 2880: fp8_group: a row "
      "of "
      "2880 elements is not whole groups of 128\n"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i)
    if (!strstr(text, parts[i])) fail_msg("missing: %s\nin: %s", parts[i], text);
  free(text);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_variants),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_fused_shapes),
      cmocka_unit_test(test_every_length),
      cmocka_unit_test(test_epilogue_only),
      cmocka_unit_test(test_twoshot),
      cmocka_unit_test(test_fp32_rounding),
      cmocka_unit_test(test_same_epilogues),
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_trigger),
      cmocka_unit_test(test_dropped),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_json_twice),
      cmocka_unit_test(test_json_damaged),
      cmocka_unit_test(test_json_fused),
      cmocka_unit_test(test_json_truncated),
      cmocka_unit_test(test_json_file),
      cmocka_unit_test(test_explain),
      cmocka_unit_test(test_explain_epilogues),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
