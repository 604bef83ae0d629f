/* Every field of a spec, and the exact message for every mistake in one. */
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
#include "scratch.h"
#include "spec/spec.h"

/* The message after "FOLDER/"; it has to begin with that. */
static const char *message_in(const scratch *s) {
  const char *message = lampar_last_error();
  const size_t length = strlen(s->folder);
  if (strncmp(message, s->folder, length) != 0) fail_msg("no path in front of: %s", message);
  return message + length + 1;
}

static void expect_error(const char *text, size_t size, const char *message) {
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES];
  scratch_write(&s, "x.lua", text, size, path);
  lampar_spec spec;
  lampar_files read = {0};
  assert_int_equal(lampar_spec_read(path, &spec, &read), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(message_in(&s), message);
  assert_int_equal(spec.width_count, 0);
  assert_int_equal(read.count, 1);
  lampar_files_free(&read);
  scratch_close(&s);
}

static void refused(const char *text, const char *message) {
  expect_error(text, strlen(text), message);
}

/* A whole spec with the field's line replaced or added; the field is on line 7. */
static void field_refused(const char *field, const char *message) {
  static const char *const lines[] = {"name", "arch", "world", "dtype"};
  static const char *const values[] = {"  name = \"x\",\n", "  arch = { \"sm_90\" },\n",
                                       "  world = { 2 },\n", "  dtype = { \"bf16\" },\n"};
  char text[4096] = "return spec {\n";
  for (size_t i = 0; i < 4; ++i) {
    const size_t length = strlen(lines[i]);
    const bool replaced = strncmp(field, lines[i], length) == 0 && field[length] == ' ';
    strcat(text, replaced ? "\n" : values[i]);
  }
  strcat(text, "\n  ");
  strcat(text, field);
  strcat(text, ",\n}\n");
  char whole[1024];
  snprintf(whole, sizeof whole, "x.lua:7: %s", message);
  refused(text, whole);
}

static void test_unknown_fields(void **state) {
  (void)state;
  field_refused("hiden = { 64 }", "unknown field hiden; the nearest known is hidden");
  field_refused("wach_dog = 5", "unknown field wach_dog; the nearest known is watchdog_ms");
  field_refused("roundings = \"fp32\"", "unknown field roundings; the nearest known is rounding");
  field_refused("[\"row\"] = 5", "unknown field row; the nearest known is rows");
  field_refused("topology = { lnik = \"any\" }",
                "unknown field topology.lnik; the nearest known is link");
  refused("return spec {\n\"x\" }\n",
          "x.lua:1: spec has a value without a field name, the string \"x\"");
  refused("return spec { [spec] = 1 }\n",
          "x.lua:1: a field name is a function, it should be a word");
  /* The line of the field, not of a remark or of another spec that has the name as well. */
  refused("local old = { rosw = 1 }\nreturn spec {\n-- rosw = 3\n  rosw = 2,\n}\n",
          "x.lua:4: unknown field rosw; the nearest known is rows");
}

static void test_missing_fields(void **state) {
  (void)state;
  refused("\nreturn spec {}\n", "x.lua:2: name is missing; every spec needs it");
  refused("return spec { name = 'x' }\n", "x.lua:1: arch is missing; every spec needs it");
  refused("return spec { name = 'x', arch = { 'emu' } }\n",
          "x.lua:1: world is missing; every spec needs it");
  refused("return spec { name = 'x', arch = { 'emu' }, world = { 2 } }\n",
          "x.lua:1: dtype is missing; every spec needs it");
}

static void test_names(void **state) {
  (void)state;
  const char *should = "1 to 63 letters, digits, '-', '_' or '.', the first a letter or a digit";
  char message[256];
  snprintf(message, sizeof message, "name is the string \"a/b\"; it should be %s", should);
  field_refused("name = \"a/b\"", message);
  snprintf(message, sizeof message, "name is the string \"\"; it should be %s", should);
  field_refused("name = \"\"", message);
  snprintf(message, sizeof message, "name is the string \".x\"; it should be %s", should);
  field_refused("name = \".x\"", message);
  field_refused("name = 5", "name is 5; it should be a string");
}

static void test_lists(void **state) {
  (void)state;
  field_refused(
      "arch = \"sm_90\"",
      "arch is the string \"sm_90\"; it should be a list of archs, such as { \"sm_90\" }");
  field_refused("arch = {}",
                "arch is an empty list; it should be a list of archs, such as { \"sm_90\" }");
  field_refused("arch = { \"sm_91\" }",
                "arch[1]: unknown arch \"sm_91\"; the nearest known is sm_90");
  field_refused("arch = { 90 }",
                "arch[1] is 90; it should be one of emu sm_80 sm_89 sm_90 sm_100 sm_103 sm_120");
  field_refused("arch = { \"sm_80\", \"sm_80\" }",
                "arch has the string \"sm_80\" twice; leave one out");
  field_refused(
      "world = {}",
      "world is an empty list; it should be a list of numbers of ranks, such as { 2, 4, 8 }");
  field_refused("world = { 1 }", "world[1] is 1; it should be 2 to 16 ranks");
  field_refused("world = { 2, 17 }", "world[2] is 17; it should be 2 to 16 ranks");
  field_refused("world = { 2.0 }",
                "world[1] is 2.0, which is not an integer; it should be 2 to 16 ranks");
  field_refused("world = { 2, 2 }", "world has 2 twice; leave one out");
  field_refused("world = { 2, nil, 4 }",
                "world is a table with names or gaps; it should be a list of "
                "numbers of ranks, such as { 2, 4, 8 }");
  field_refused("world = { 2, least = 4 }",
                "world is a table with names or gaps; it should be a list "
                "of numbers of ranks, such as { 2, 4, 8 }");
  field_refused("dtype = {}",
                "dtype is an empty list; it should be a list of dtypes, such as { \"bf16\" }");
  field_refused("dtype = { \"fp16\" }",
                "dtype[1]: unknown dtype \"fp16\"; the nearest known is f16");
  field_refused("dtype = { \"f64\" }", "dtype[1]: unknown dtype \"f64\"; the nearest known is f16");
}

static void test_hidden(void **state) {
  (void)state;
  field_refused("hidden = 64", "hidden is 64; it should be a list of integers and model \"name\"");
  field_refused("hidden = {}",
                "hidden is an empty list; it should be a list of integers and model \"name\"");
  field_refused("hidden = { 0 }", "hidden[1] is 0; it should be 1 to 65536 elements");
  field_refused("hidden = { 64, -8 }", "hidden[2] is -8; it should be 1 to 65536 elements");
  field_refused("hidden = { 65544 }", "hidden[1] is 65544; it should be 1 to 65536 elements");
  field_refused("hidden = { 100 }", "hidden[1] is 100; it should be a multiple of 8 elements");
  field_refused("hidden = { \"64\" }",
                "hidden[1] is the string \"64\"; it should be an integer or model \"name\"");
  field_refused("hidden = model \"glm-5\"",
                "hidden is a table; it should be a list of integers and model \"name\"");
  field_refused("hidden = { 64, 64 }", "hidden has 64 twice; leave one out");
  field_refused("hidden = { model \"glm-5\", model \"glm-5\" }",
                "hidden has model glm-5 twice; leave one out");
  field_refused("hidden = { model \"deepsek-v3\" }",
                "unknown model \"deepsek-v3\"; the nearest known is deepseek-v3");
  field_refused("hidden = { model { 64 } }", "model takes one name: model \"deepseek-v3\"");
}

static void test_limits(void **state) {
  (void)state;
  field_refused("rows = 0, hidden = { 64 }", "rows is 0; it should be 1 row or more");
  field_refused("rows = \"8\", hidden = { 64 }",
                "rows is the string \"8\"; it should be 1 row or more");
  field_refused("rows = 8",
                "rows has no effect without hidden: flat kernels are limited by bytes; leave "
                "it out");
  field_refused("bytes = 0", "bytes is 0; it should be 16 bytes or more, up to 1 TiB");
  field_refused("bytes = true", "bytes is true; it should be 16 bytes or more, up to 1 TiB");
  field_refused("watchdog_ms = -1",
                "watchdog_ms is -1; it should be 0 (none) to 4294967295 milliseconds");
  field_refused("alignment = 8",
                "alignment is 8; it should be 16 (bytes); leave it out for kernels that take any "
                "address");
  field_refused("watchdog_ms = 0.5", "watchdog_ms is 0.5, which is not an integer; it should be 0 "
                                     "(none) to 4294967295 milliseconds");
}

static void test_choices(void **state) {
  (void)state;
  field_refused(
      "topology = \"nvlink\"",
      "topology is the string \"nvlink\"; it should be a table, such as { link = \"nvlink\" }");
  field_refused("topology = { link = \"nvlnk\" }",
                "topology.link: unknown link \"nvlnk\"; the nearest known is nvlink");
  field_refused("topology = { nodes = 2 }",
                "topology.nodes is 2; it should be 1: the kernels reach GPUs of one node only");
  field_refused("pdl = \"late\"",
                "pdl: unknown place of the trigger \"late\"; the nearest known is early");
  field_refused("pdl = false", "pdl is false; it should be one of early exit off");
  field_refused("epilogue = {}",
                "epilogue is an empty list; it should be a list of stage lists, such as { {} }");
  field_refused("epilogue = { {}, {} }", "epilogue has {} twice; leave one out");
}

/* What stages and options there are is the plan's to say: stages_test. */
static void test_epilogues(void **state) {
  (void)state;
#define ROWS "hidden = { 64 }, "
  field_refused("epilogue = { {}, { \"rmsnorm\" } }",
                "epilogue[2] has stages, which work on rows, and the spec has no rows; add hidden");
  field_refused(ROWS "epilogue = { \"rmsnorm\" }",
                "epilogue[1] is the string \"rmsnorm\"; it should be a list of stages, {} for the "
                "plain all-reduce");
  field_refused(
      ROWS "epilogue = { { \"rmsnorm\", offset = 1 } }",
      "epilogue[1] is a table with names or gaps; it should be a list of stages, such as { "
      "\"rmsnorm\" } or { { \"rmsnorm\", offset = 1 } }");
  field_refused(ROWS "epilogue = { { 5 } }",
                "epilogue[1][1] is 5; it should be the name of a stage, or { \"name\", option = "
                "value }");
  field_refused(ROWS "epilogue = { { \"RMSNorm\" } }",
                "epilogue[1][1] is the string \"RMSNorm\"; it should be the name of a stage: a-z, "
                "0-9 and '_'");
  field_refused(
      ROWS "epilogue = { { { \"rmsnorm\", \"f32\" } } }",
      "epilogue[1][1] is a table with more than a name; options have names: { \"rmsnorm\", "
      "offset = 1 }");
  field_refused(
      ROWS "epilogue = { { { \"rmsnorm\", offset = 0.5 } } }",
      "epilogue[1][1]: offset is 0.5, which is not an integer; it should be an integer or a "
      "word");
  field_refused(ROWS "epilogue = { { { \"rmsnorm\", weight = \"a+b\" } } }",
                "epilogue[1][1]: weight is the string \"a+b\"; it should be an integer or a word");
  field_refused(ROWS "epilogue = { { { \"rmsnorm\", Weight = \"f32\" } } }",
                "epilogue[1][1]: Weight is not the name of an option: a-z, 0-9 and '_'");
  field_refused(ROWS "epilogue = { { \"bias\", { \"bias\" } } }",
                "epilogue[1] has bias twice; a stage acts once");
  field_refused(ROWS "epilogue = { { { \"n\", b = 1, a = 2 } }, { { \"n\", a = 2, b = 1 } } }",
                "epilogue has n.a=2.b=1 twice; leave one out");
  field_refused("rounding = \"fp16\"", "rounding: unknown rounding \"fp16\"; the nearest known is "
                                       "fp32");
  field_refused("weight_dtype = \"bf61\"",
                "weight_dtype: unknown dtype of weights \"bf61\"; the nearest known is bf16");
  const char *should = "a folder next to the spec, in at most 63 characters without '..'";
  char message[256];
  snprintf(message, sizeof message, "stages is the string \"../mine\"; it should be %s", should);
  field_refused("stages = \"../mine\"", message);
  snprintf(message, sizeof message, "stages is the string \"/mine\"; it should be %s", should);
  field_refused("stages = \"/mine\"", message);
  snprintf(message, sizeof message, "stages is 5; it should be %s", should);
  field_refused("stages = 5", message);
  field_refused("stages = \"mine\"", "stages: there is no folder mine next to the spec");
}

static void test_files(void **state) {
  (void)state;
  refused("", "x.lua: returns nothing; it should end with: return spec { ... }");
  refused("spec { name = 'x', arch = { 'sm_90' }, world = { 2 }, dtype = { 'f32' } }\n",
          "x.lua: returns nothing; it should end with: return spec { ... }");
  refused("return { name = 'x' }\n",
          "x.lua: returns a table; it should end with: return spec { ... }");
  refused("return 5\n", "x.lua: returns 5; it should end with: return spec { ... }");
  refused("return spec 'x'\n", "x.lua:1: spec takes one table: spec { name = \"...\", ... }");
  refused("return spec {\n  name = 'x'\n  arch = 5\n}\n",
          "x.lua:3: '}' expected (to close '{' at line 1) near 'arch'");
  refused("\nreturn spek {}\n", "x.lua:2: unknown name spek; the nearest known is spec");
  refused("\nwhile true do end\n",
          "x.lua:2: stopped after 20000000 instructions; is there an endless loop?");
  refused("local t = {}\nfor i = 1, math.maxinteger do t[i] = { i, i } end\n",
          "x.lua: stopped because it needs more than 64 MiB of memory");
  expect_error("\x1bLuaS\0\x19", 7, "x.lua: is compiled Lua, which is not accepted; give the text");
}

static void test_missing_file(void **state) {
  (void)state;
  lampar_spec spec;
  lampar_files read = {0};
  assert_int_not_equal(lampar_spec_read("/nowhere/x.lua", &spec, &read), LAMPAR_OK);
  assert_string_equal(lampar_last_error(),
                      "/nowhere/x.lua: cannot be read: No such file or directory");
  assert_int_not_equal(lampar_spec_read("/", &spec, &read), LAMPAR_OK);
  assert_string_equal(lampar_last_error(), "/: cannot be read: Is a directory");
  assert_int_equal(read.count, 0);
}

static void test_defaults(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES];
  const char text[] =
      "return spec { name = 'x', arch = { 'sm_90' }, world = { 8 }, dtype = { 'f16' } }";
  scratch_write(&s, "x.lua", text, strlen(text), path);
  lampar_spec spec;
  lampar_files read = {0};
  assert_int_equal(lampar_spec_read(path, &spec, &read), LAMPAR_OK);
  assert_string_equal(spec.name, "x");
  assert_int_equal(spec.arch_count, 1);
  assert_int_equal(spec.archs[0], 90);
  assert_int_equal(spec.world_count, 1);
  assert_int_equal(spec.worlds[0], 8);
  assert_int_equal(spec.dtype_count, 1);
  assert_int_equal(spec.dtypes[0], LAMPAR_F16);
  assert_int_equal(spec.width_count, 0);
  assert_int_equal(spec.bytes, 1 << 20);
  assert_true(spec.needs_nvlink);
  assert_int_equal(spec.trigger, LAMPAR_TRIGGER_EARLY);
  assert_int_equal(spec.watchdog_ms, 600000);
  assert_int_equal(spec.alignment, 0);
  static const char *const defaults[] = {"hidden: none, flat kernels only",
                                         "bytes = 1048576",
                                         "epilogue = { {} }",
                                         "topology.link = \"nvlink\"",
                                         "topology.nodes = 1",
                                         "pdl = \"early\"",
                                         "watchdog_ms = 600000",
                                         "alignment: none, any address"};
  assert_int_equal(spec.default_count, 8);
  for (size_t i = 0; i < 8; ++i) assert_string_equal(spec.defaults[i], defaults[i]);
  assert_int_equal(spec.epilogue_count, 1);
  assert_string_equal(spec.epilogues[0].text, "");
  assert_int_equal(spec.rounding, LAMPAR_ROUNDING_UNFUSED);
  assert_null(spec.weight_dtype);
  assert_null(spec.stages);
  lampar_spec_free(&spec);
  lampar_files_free(&read);
  scratch_close(&s);
}

static void test_every_field(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES], required[SCRATCH_PATH_BYTES];
  const char beside[] = "return { 2880, model 'kimi-k3' }";
  const char text[] = "return spec {\n"
                      "  name = 'all-1.0_x', arch = { 'emu', 'sm_120' }, world = { 16, 2 },\n"
                      "  dtype = { 'f32', 'bf16' }, hidden = require 'parts/widths', rows = 7,\n"
                      "  epilogue = { { 'bias', { 'rmsnorm', weight = 'f32', a = 1 } }, {} },\n"
                      "  rounding = 'fp32', weight_dtype = 'f16', stages = 'parts',\n"
                      "  bytes = 4096, topology = { link = 'any', nodes = 1 },\n"
                      "  pdl = 'exit', watchdog_ms = 0, alignment = 16,\n"
                      "}\n";
  scratch_write(&s, "x.lua", text, strlen(text), path);
  scratch_write(&s, "parts/widths.lua", beside, strlen(beside), required);
  lampar_spec spec;
  lampar_files read = {0};
  if (lampar_spec_read(path, &spec, &read) != LAMPAR_OK) fail_msg("%s", lampar_last_error());
  assert_int_equal(spec.archs[0], LAMPAR_ARCH_EMU);
  assert_int_equal(spec.archs[1], 120);
  assert_int_equal(spec.worlds[0], 16);
  assert_int_equal(spec.dtypes[0], LAMPAR_F32);
  assert_int_equal(spec.width_count, 3);
  assert_int_equal(spec.widths[0].elements, 2880);
  assert_null(spec.widths[0].model);
  assert_int_equal(spec.widths[2].elements, 3584);
  assert_string_equal(spec.widths[2].model, "kimi-k3");
  assert_int_equal(spec.rows, 7);
  assert_int_equal(spec.bytes, 4096);
  assert_false(spec.needs_nvlink);
  assert_int_equal(spec.trigger, LAMPAR_TRIGGER_EXIT);
  assert_int_equal(spec.watchdog_ms, 0);
  assert_int_equal(spec.alignment, 16);
  assert_int_equal(spec.epilogue_count, 2);
  assert_string_equal(spec.epilogues[0].text, "bias+rmsnorm.a=1.weight=f32");
  assert_string_equal(spec.epilogues[1].text, "");
  char where[SCRATCH_PATH_BYTES + 32], folder[SCRATCH_PATH_BYTES];
  snprintf(where, sizeof where, "%s:4: epilogue[1]", path);
  assert_string_equal(spec.epilogues[0].where, where);
  assert_int_equal(spec.rounding, LAMPAR_ROUNDING_FP32);
  assert_string_equal(spec.weight_dtype, "f16");
  assert_string_equal(spec.stages, "parts");
  scratch_path(&s, "parts", folder);
  assert_string_equal(spec.stages_folder, folder);
  assert_int_equal(spec.default_count, 0);
  assert_int_equal(read.count, 2);
  assert_string_equal(read.paths[0], path);
  assert_string_equal(read.paths[1], required);
  lampar_spec_free(&spec);
  lampar_files_free(&read);
  scratch_close(&s);
}

static void expect_require(const char *text, const char *message) {
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES];
  const char again[] = "return require 'again'", wrong[] = "\nreturn 1 + nil",
             nothing[] = "local x = 1";
  scratch_write(&s, "again.lua", again, strlen(again), path);
  scratch_write(&s, "wrong.lua", wrong, strlen(wrong), path);
  scratch_write(&s, "nothing.lua", nothing, strlen(nothing), path);
  scratch_write(&s, "x.lua", text, strlen(text), path);
  lampar_spec spec;
  lampar_files read = {0};
  assert_int_equal(lampar_spec_read(path, &spec, &read), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(message_in(&s), message);
  lampar_files_free(&read);
  scratch_close(&s);
}

static void test_require(void **state) {
  (void)state;
  const char *only =
      "only files next to the spec or below its folder; no '..' and no absolute path";
  char message[256];
  snprintf(message, sizeof message, "x.lua:1: require \"../x\": %s", only);
  expect_require("return require '../x'", message);
  snprintf(message, sizeof message, "x.lua:1: require \"/etc/x\": %s", only);
  expect_require("return require '/etc/x'", message);
  expect_require(
      "return require 'again'",
      "again.lua:1: require \"again\": the file requires itself, directly or through another");
  expect_require("return require 'wrong'",
                 "wrong.lua:2: attempt to perform arithmetic on a nil value");
  expect_require("return require 'nothing'",
                 "x.lua:1: require \"nothing\": the file returns nothing");
}

/* Lua shortens long paths in its messages; ours are whole. */
static void test_long_path(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  char path[SCRATCH_PATH_BYTES], message[SCRATCH_PATH_BYTES + 64];
  const char text[] = "local x = 1\nreturn x.y.z";
  scratch_write(&s, "a-folder-with-a-long-name/and-another-folder-with-a-long-name/x.lua", text,
                strlen(text), path);
  lampar_spec spec;
  lampar_files read = {0};
  assert_int_equal(lampar_spec_read(path, &spec, &read), LAMPAR_ERROR_ARGUMENT);
  snprintf(message, sizeof message, "%s:2: attempt to index a number value (local 'x')", path);
  assert_string_equal(lampar_last_error(), message);
  lampar_files_free(&read);
  scratch_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unknown_fields), cmocka_unit_test(test_missing_fields),
      cmocka_unit_test(test_names),          cmocka_unit_test(test_lists),
      cmocka_unit_test(test_hidden),         cmocka_unit_test(test_limits),
      cmocka_unit_test(test_choices),        cmocka_unit_test(test_epilogues),
      cmocka_unit_test(test_files),          cmocka_unit_test(test_missing_file),
      cmocka_unit_test(test_defaults),       cmocka_unit_test(test_every_field),
      cmocka_unit_test(test_require),        cmocka_unit_test(test_long_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
