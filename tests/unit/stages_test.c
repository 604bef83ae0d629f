/* Stage files: what they declare in a plan, their sections in a source, and the message for every
 * mistake in a spec or in a stage file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "plan/plan.h"
#include "scratch.h"
#include "template/render.h"

#define PARAMS                                                                                     \
  "$params \"arch world dtype hidden max_rows max_bytes persistent threads trigger watchdog_ms "   \
  "alignment algorithm rounding "                                                                  \
  "cluster vectors_per_warp epilogue\"\n"

/* Lists what a kernel template gets. */
static const char listing[] =
    PARAMS "$for _, stage in ipairs(stages) do\n"
           "  ${stage.name}: ${stage.about}${stage.quantizes and \", last\" or \"\"}\n"
           "  $if stage.helpers then\n"
           "    $emit(stage.helpers)\n"
           "  $end\n"
           "  $for _, step in ipairs(stage.steps) do\n"
           "    ${step.kind} ${step.name or \"-\"} {\n"
           "      $emit(step)\n"
           "    }\n"
           "  $end\n"
           "$end\n"
           "$for _, operand in ipairs(operands) do\n"
           "  ${operand.stage}.${operand.name} ${operand.dtype} ${operand.per} "
           "${operand.output and \"out\" or \"in\"} ${operand.group}\n"
           "$end\n";

static const char norm[] = "$stage \"x * scale\"\n"
                           "$local weight = option(\"weight\", { \"same\", \"f32\", \"none\" })\n"
                           "$local offset = option(\"offset\", { 0, 1, 12 })\n"
                           "$if weight ~= \"none\" then\n"
                           "  $operand { name = \"weight\", per = \"column\", dtype = weight }\n"
                           "$end\n"
                           "$value \"eps\"\n"
                           "\n"
                           "$sum \"squares\"\n"
                           "\n"
                           "partial += x * x;  // ${hidden} ${dtype} ${rounding} ${algorithm}\n"
                           "\n"
                           "$row()\n"
                           "scale = ${offset};\n"
                           "$map()\n"
                           "if (a) {\n"
                           "  $if weight ~= \"none\" then\n"
                           "    x = ${weight};\n"
                           "  $end\n"
                           "\n"
                           "}\n";

static const char residual[] = "$stage \"x + residual\"\n"
                               "$operand { name = \"residual\", per = \"element\" }\n"
                               "$map()\n"
                               "x += residual;\n";

static const char group[] =
    "$stage \"groups\"\n"
    "$operand { name = \"scale\", per = \"group\", dtype = \"u8\", group = 16, output = true }\n"
    "$refuse(hidden % 16 ~= 0, \"group: %d elements are not whole groups of %d\", hidden, 16)\n"
    "$quantizes()\n"
    "$helpers()\n"
    "$part \"help\"\n"
    "$max \"most\"\n"
    "partial = x;\n"
    "$map()\n"
    "store(x);\n";

typedef struct fixture {
  scratch s;
  lampar_spec spec;
  lampar_plan plan;
  lampar_files read;
} fixture;

static void put(const fixture *l, const char *name, const char *text) {
  char path[SCRATCH_PATH_BYTES];
  scratch_write(&l->s, name, text, strlen(text), path);
}

static int fixture_setup(void **state) {
  fixture *const l = *state = calloc(1, sizeof *l);
  if (l == NULL) return -1;
  scratch_open(&l->s);
  put(l, "oneshot.cu.in", listing);
  put(l, "twoshot.cu.in", listing);
  put(l, "parts/help.cuh.in", "help ${hidden}\n");
  put(l, "epilogues/norm.cu.in", norm);
  put(l, "epilogues/residual.cu.in", residual);
  put(l, "epilogues/group.cu.in", group);
  put(l, "epilogues/not_a_stage.txt", "no");
  return 0;
}

static void fixture_forget(fixture *l) {
  lampar_plan_free(&l->plan);
  lampar_spec_free(&l->spec);
  lampar_files_free(&l->read);
}

static int fixture_teardown(void **state) {
  fixture *const l = *state;
  fixture_forget(l);
  scratch_close(&l->s);
  free(l);
  return 0;
}

#define fixture_test(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

static lampar_status plan_fields(fixture *l, const char *fields) {
  char text[2048], path[SCRATCH_PATH_BYTES];
  snprintf(text, sizeof text,
           "return spec { name = 'x', arch = { 'sm_90' }, world = { 2 }, dtype = { 'bf16' },\n"
           "%s }",
           fields);
  fixture_forget(l);
  scratch_write(&l->s, "x.lua", text, strlen(text), path);
  LAMPAR_TRY(lampar_spec_read(path, &l->spec, &l->read));
  return lampar_plan_make(&l->spec, l->s.folder, &l->plan, &l->read);
}

static void plans(fixture *l, const char *fields) {
  if (plan_fields(l, fields) != LAMPAR_OK) fail_msg("%s", lampar_last_error());
}

/* The message behind "FOLDER/x.lua:". */
static void refused(fixture *l, const char *fields, const char *message) {
  assert_int_equal(plan_fields(l, fields), LAMPAR_ERROR_ARGUMENT);
  const char *const tail = strstr(lampar_last_error(), "x.lua:");
  if (tail == NULL) fail_msg("no file in: %s", lampar_last_error());
  assert_string_equal(tail + strlen("x.lua:"), message);
  assert_int_equal(l->plan.variant_count, 0);
}

/* The first fused kernel of an algorithm; there are plain ones in every plan. */
static const lampar_variant *first(const fixture *l, uint32_t algorithm) {
  for (size_t i = 0; i < l->plan.variant_count; ++i)
    if (l->plan.variants[i].algorithm == algorithm && l->plan.variants[i].epilogue[0] != '\0')
      return &l->plan.variants[i];
  fail_msg("no kernel of algorithm %u", algorithm);
  return NULL;
}

static void renders(fixture *l, uint32_t algorithm, const char *expected) {
  const lampar_own_stages own = {l->plan.stages_folder, l->plan.stages};
  char *source;
  if (lampar_render(l->s.folder, &own, first(l, algorithm), NULL, &source, &l->read) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  assert_string_equal(source, expected);
  free(source);
}

static void test_what_templates_get(void **state) {
  fixture *const l = *state;
  plans(l, "hidden = { 64 }, epilogue = { { 'residual', { 'norm', offset = 12 }, 'group' } }");
  const char expected[] = "residual: x + residual\n"
                          "map - {\n  x += residual;\n}\n"
                          "norm: x * scale\n"
                          "sum squares {\n  partial += x * x;  // 64 bf16 unfused oneshot\n}\n"
                          "row - {\n  scale = 12;\n}\n"
                          "map - {\n  if (a) {\n    x = bf16;\n\n  }\n}\n"
                          "group: groups, last\n"
                          "help 64\n"
                          "max most {\n  partial = x;\n}\n"
                          "map - {\n  store(x);\n}\n"
                          "residual.residual bf16 element in 0\n"
                          "norm.weight bf16 column in 0\n"
                          "norm.eps f32 call in 0\n"
                          "group.scale u8 group out 16\n";
  renders(l, LAMPAR_ONESHOT, expected);
  const lampar_variant *variant = first(l, LAMPAR_ONESHOT);
  assert_string_equal(variant->epilogue, "residual+norm.offset_12+group");
  assert_int_equal(variant->operand_count, 4);
  assert_string_equal(variant->operands[3].name, "scale");
  assert_int_equal(variant->operands[3].dtype, LAMPAR_U8);
  assert_int_equal(variant->operands[3].granularity, LAMPAR_GRANULARITY_GROUP);
  assert_int_equal(variant->operands[3].group, 16);
  assert_int_equal(variant->operands[3].output, 1);
  assert_int_equal(variant->operands[2].granularity, LAMPAR_GRANULARITY_CALL);
}

/* Lists the steps of a kernel. */
static const char steps[] = PARAMS "$for _, step in ipairs(schedule) do\n"
                                   "  ${step.kind}${step.name and \" \" .. step.name or \"\"}\n"
                                   "$end\n";

/* A total is combined before whatever names it; what does not, runs before the partials of others
 * are there. Slots are re-armed at the first wait. */
static void test_totals(void **state) {
  fixture *const l = *state;
  put(l, "oneshot.cu.in", steps);
  put(l, "parts/uses.cuh.in", "x / total;\n");
  put(l, "epilogues/totals.cu.in",
      "$stage \"x / total\"\n$sum \"total\"\npartial;\n$map()\nsubtotal;\n$map()\nx / total;\n"
      "$map()\nx;\n$max \"most\"\npartial;\n$map()\n$part \"uses\"\n$map()\nx;\n"
      "$sum \"last\"\npartial;\n$map()\nx;\n$row()\nrow;\n$map()\nx;\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'totals' } }");
  renders(l, LAMPAR_ONESHOT,
          "begin totals\n"
          "partial_sum total\npublish_sum total\nmap\nrearm\ncombine_sum total\nmap\nmap\n"
          "partial_max most\npublish_max most\ncombine_max most\nmap\nmap\n"
          "partial_sum last\npublish_sum last\nmap\ncombine_sum last\nrow\nmap\n"
          "end\nstore\n");
  renders(l, LAMPAR_EPILOGUE_ONLY,
          "begin totals\n"
          "partial_sum total\npublish_sum total\nmap\ncombine_sum total\nmap\nmap\n"
          "partial_max most\npublish_max most\ncombine_max most\nmap\nmap\n"
          "partial_sum last\npublish_sum last\nmap\ncombine_sum last\nrow\nmap\n"
          "end\nstore\n");
}

/* Without a total there is no wait in which slots could be re-armed. */
static void test_steps_without_totals(void **state) {
  fixture *const l = *state;
  put(l, "oneshot.cu.in", steps);
  plans(l, "hidden = { 64 }, epilogue = { { 'residual' } }");
  renders(l, LAMPAR_ONESHOT, "begin residual\nmap\nend\nstore\nrearm_last\n");
  put(l, "epilogues/last.cu.in", "$stage \"stores\"\n$quantizes()\n$map()\nstore(x);\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'last' } }");
  renders(l, LAMPAR_ONESHOT, "begin last\nmap\nend\nrearm_last\n");
}

/* What a section does not mention is not made for it. */
static void test_what_sections_use(void **state) {
  fixture *const l = *state;
  put(l, "oneshot.cu.in",
      PARAMS "$for _, step in ipairs(schedule) do\n"
             "  ${step.kind}${step.uses_at and \" at\" or \"\"}\n"
             "  $for _, operand in ipairs(step.inputs or {}) do\n"
             "    ${operand.name}\n"
             "  $end\n"
             "$end\n");
  put(l, "epilogues/uses.cu.in",
      "$stage \"uses\"\n$operand { name = \"a\", per = \"element\" }\n"
      "$operand { name = \"b\", per = \"column\" }\n$map()\na; at.row;\n$map()\nb; cat;\n"
      "$row()\nx;\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'uses' } }");
  renders(l, LAMPAR_ONESHOT, "begin\nmap at\na\nmap\nb\nrow\nend\nstore\nrearm_last\n");
}

/* An amax behind a scaling is found in the same phase as the sum that the scale is made from. */
static void test_amax_ahead(void **state) {
  fixture *const l = *state;
  put(l, "oneshot.cu.in", steps);
  put(l, "epilogues/scaled.cu.in",
      "$stage \"x / sum\"\n$sum \"total\"\npartial;\n$row()\nscale;\n$scale \"scale\"\n");
  put(l, "epilogues/kept.cu.in", "$stage \"kept\"\n$keeps()\n$map()\nstore;\n");
  put(l, "epilogues/most.cu.in", "$stage \"most\"\n$amax \"amax\"\n$map()\namax;\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'scaled', 'kept', 'most' } }");
  renders(l, LAMPAR_ONESHOT,
          "amax_ahead\n"
          "begin scaled\npartial_sum total\npublish_both total\nrearm\ncombine_both total\nrow\n"
          "scale scale\nend\n"
          "begin kept\nmap\nend\n"
          "begin most\nknown_max amax\nmap\nend\nstore\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'scaled', 'residual', 'most' } }");
  renders(l, LAMPAR_ONESHOT,
          "begin scaled\npartial_sum total\npublish_sum total\nrearm\ncombine_sum total\nrow\n"
          "scale scale\nend\n"
          "begin residual\nmap\nend\n"
          "begin most\npartial_max amax\npublish_max amax\ncombine_max amax\nmap\nend\nstore\n");
  put(l, "epilogues/scaled.cu.in",
      "$stage \"changes x in between\"\n$sum \"total\"\npartial;\n$row()\nscale;\n$map()\nx;\n"
      "$scale \"scale\"\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'scaled', 'most' } }");
  renders(l, LAMPAR_ONESHOT,
          "begin scaled\npartial_sum total\npublish_sum total\nrearm\ncombine_sum total\nrow\nmap\n"
          "scale scale\nend\n"
          "begin most\npartial_max amax\npublish_max amax\ncombine_max amax\nmap\nend\nstore\n");
  put(l, "epilogues/scaled.cu.in",
      "$stage \"two sums\"\n$sum \"total\"\npartial;\n$row()\nmean;\n$sum \"squares\"\npartial;\n"
      "$map()\nweight;\n$row()\nscale;\n$scale \"scale\"\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'scaled', 'most' } }");
  renders(l, LAMPAR_ONESHOT,
          "amax_ahead\n"
          "begin scaled\npartial_sum total\npublish_sum total\nrearm\ncombine_sum total\nrow\n"
          "partial_sum squares\nmap\npublish_both squares\ncombine_both squares\nrow\nscale scale\n"
          "end\n"
          "begin most\nknown_max amax\nmap\nend\nstore\n");
}

static void test_no_stages(void **state) {
  fixture *const l = *state;
  plans(l, "hidden = { 64 }");
  assert_int_equal(l->plan.variant_count, 4);
  for (size_t i = 0; i < 4; ++i) {
    char *source;
    assert_string_equal(l->plan.variants[i].epilogue, "");
    assert_int_equal(lampar_render(l->s.folder, NULL, &l->plan.variants[i], NULL, &source, NULL),
                     LAMPAR_OK);
    assert_string_equal(source, "");
    free(source);
  }
}

static void has_text(fixture *l, const char *epilogue, const char *more, const char *text) {
  char fields[512];
  snprintf(fields, sizeof fields, "hidden = { 64 }, epilogue = { %s }, %s", epilogue, more);
  plans(l, fields);
  size_t found = 0;
  for (size_t i = 0; i < l->plan.variant_count; ++i) {
    if (l->plan.variants[i].epilogue[0] == '\0') continue;
    assert_string_equal(l->plan.variants[i].epilogue, text);
    ++found;
  }
  assert_int_equal(found, 3); /* epilogue-only, single-pass, persistent */
}

static void test_options(void **state) {
  fixture *const l = *state;
  has_text(l, "{ 'norm' }", "", "norm");
  has_text(l, "{ { 'norm', offset = 0, weight = 'same' } }", "", "norm");
  has_text(l, "{ { 'norm', offset = 1, weight = 'none' } }", "", "norm.weight_none.offset_1");
  has_text(l, "{ { 'norm', offset = '12' }, 'residual' }", "", "norm.offset_12+residual");
  has_text(l, "{ 'norm' }", "weight_dtype = 'f32'", "norm.weight_f32");
  has_text(l, "{ { 'norm', weight = 'none' } }", "weight_dtype = 'f32'", "norm.weight_none");
  has_text(l, "{ 'norm' }", "weight_dtype = 'same'", "norm");
  plans(l, "hidden = { 64 }, epilogue = { { { 'norm', weight = 'f32' } } }, rounding = 'fp32'");
  assert_int_equal(first(l, LAMPAR_ONESHOT)->operands[0].dtype, LAMPAR_F32);
  assert_int_equal(first(l, LAMPAR_ONESHOT)->rounding, LAMPAR_ROUNDING_FP32);
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(first(l, LAMPAR_EPILOGUE_ONLY), name);
  assert_string_equal(name, "ep_norm_weight_f32_fp32_bf16_h64_sm_90");
  renders(l, LAMPAR_EPILOGUE_ONLY,
          "norm: x * scale\n"
          "sum squares {\n  partial += x * x;  // 64 bf16 fp32 epilogue_only\n}\n"
          "row - {\n  scale = 0;\n}\n"
          "map - {\n  if (a) {\n    x = f32;\n\n  }\n}\n"
          "norm.weight f32 column in 0\n"
          "norm.eps f32 call in 0\n");
}

static void test_mistakes_of_specs(void **state) {
  fixture *const l = *state;
#define EPILOGUE(stages) "hidden = { 64 }, epilogue = { {}, " stages " }"
  refused(l, EPILOGUE("{ 'nrom' }"),
          "2: epilogue[2]: unknown stage \"nrom\"; the nearest known is norm; stages are the files "
          "NAME.cu.in in templates/epilogues");
  refused(l, EPILOGUE("{ { 'norm', wieght = 'f32' } }"),
          "2: epilogue[2]: norm: unknown option wieght; the nearest known is weight");
  refused(l, EPILOGUE("{ { 'residual', weight = 'f32' } }"),
          "2: epilogue[2]: residual: unknown option weight; the stage has none");
  refused(l, EPILOGUE("{ { 'norm', weight = 'f16' } }"),
          "2: epilogue[2]: norm: weight is f16; it should be one of same f32 none");
  refused(l, EPILOGUE("{ { 'norm', offset = 2 } }"),
          "2: epilogue[2]: norm: offset is 2; it should be one of 0 1 12");
  refused(l, EPILOGUE("{ 'norm' }") ", weight_dtype = 'f16'",
          "2: epilogue[2]: norm: weight_dtype is f16; it should be one of same f32 none");
  refused(l, EPILOGUE("{ 'group', 'residual' }"),
          "2: epilogue[2]: residual comes after group, which stores its result in an operand: it "
          "must be the last");
  put(l, "epilogues/other.cu.in",
      "$stage \"other\"\n$operand { name = \"residual\", per = \"element\" }\n$map()\nx;\n");
  refused(l, EPILOGUE("{ 'residual', 'other' }"),
          "2: epilogue[2]: residual and other both have an operand residual");
  put(l, "epilogues/a_stage_with_a_name_that_is_rather_long.cu.in",
      "$stage \"long\"\n$local o = option(\"option_with_a_long_name\", { \"a\", "
      "\"a_choice_with_a_long_name_too\" })\n$map()\nx;\n");
  refused(l,
          EPILOGUE("{ 'residual', { 'a_stage_with_a_name_that_is_rather_long', "
                   "option_with_a_long_name = 'a_choice_with_a_long_name_too' } }"),
          "2: epilogue[2]: its name residual+a_stage_with_a_name_that_is_rather_long."
          "option_with_a_long_name_a_choice_with_a_long_name_too is longer than the 95 characters "
          "that a pack holds");
  refused(
      l, "hidden = { 8 }, epilogue = { {}, { 'group' } }",
      "2: epilogue[2]: no kernel is left: epilogue group, bf16, hidden 8: group: 8 elements are "
      "not whole groups of 16");
}

static void test_dropped(void **state) {
  fixture *const l = *state;
  plans(l, "hidden = { 64, 8 }, epilogue = { { 'group' } }");
  assert_int_equal(l->plan.skip_count, 1); /* once for all worlds and algorithms */
  assert_string_equal(l->plan.skips[0].what, "epilogue group, bf16, hidden 8");
  assert_string_equal(l->plan.skips[0].why, "group: 8 elements are not whole groups of 16");
  for (size_t i = 0; i < l->plan.variant_count; ++i)
    assert_true(l->plan.variants[i].hidden != 8 || l->plan.variants[i].epilogue[0] == '\0');
}

/* The message of a stage file that is wrong. */
static void file_refused(fixture *l, const char *text, const char *message) {
  put(l, "epilogues/wrong.cu.in", text);
  assert_int_equal(plan_fields(l, "hidden = { 64 }, epilogue = { { 'wrong' } }"),
                   LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
}

#define WRONG "templates/epilogues/wrong.cu.in:"

static void test_mistakes_of_files(void **state) {
  fixture *const l = *state;
  file_refused(l, "$map()\nx;\n", WRONG " there is no $stage line that says what the stage does");
  file_refused(l, "$stage \"a\"\n$stage \"b\"\n",
               WRONG
               "2: $stage takes one line of text, a formula or a description, and comes once");
  file_refused(l, "$stage \"a\"\n", WRONG " the stage has no section: it does nothing");
  file_refused(l, "$stage \"a\"\n\nx;\n$map()\n",
               WRONG
               "3: a text before the first section; a section begins with $map() or its like");
  file_refused(l, "$stage \"a\"\n$map()\n${hiden}\n",
               WRONG "3: unknown name hiden; the nearest known is hidden");
  file_refused(l, "$stage \"a\"\n$map(1)\n", WRONG "2: $map() takes nothing");
  file_refused(l, "$stage \"a\"\n$helpers()\n$helpers()\n",
               WRONG "3: there is a second $helpers()");
  file_refused(l, "$stage \"a\"\n$sum \"s\"\nx\n$max \"s\"\n", WRONG "4: there is a second s");
  file_refused(l, "$stage \"a\"\n$sum()\n",
               WRONG
               "2: sum: a name of at most 23 of a-z, 0-9 and '_' is needed, the first no digit");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a b\", per = \"row\" }\n",
               WRONG "2: operand: a name of at most 23 of a-z, 0-9 and '_' is needed, the first no "
                     "digit");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"call\" }\n",
               WRONG
               "2: operand a: per is call; it should be one of element column row tensor group");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"row\", dtype = \"fp8\" }\n",
               WRONG
               "2: operand a: dtype is fp8; it should be one of bf16 f16 f32 f64 i8 u8 i32 u32 "
               "i64 u64 f8e4m3 f8e5m2 f4e2m1x2");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"group\" }\n",
               WRONG "2: operand a: per = \"group\" and group = ELEMENTS go together");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"row\", out = true }\n",
               WRONG "2: operand a: unknown field out; it has dtype group name output per");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"row\" }\n",
               WRONG "2: operand a: what is per row is stored; an input is per element, column or "
                     "tensor");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"column\", dtype = \"i8\" }\n",
               WRONG "2: operand a: an input per column is i8; it should be one of bf16 f16 f32");
  file_refused(l, "$stage \"a\"\n$operand { name = \"a\", per = \"tensor\" }\n",
               WRONG "2: operand a: an input per tensor is bf16; it should be one of f32");
  file_refused(l, "$stage \"a\"\n$local a = option(\"a\", { 1 })\n",
               WRONG "2: option a: a list of two or more choices is needed, the default first");
  file_refused(l, "$stage \"a\"\n$local a = option(\"a\", { 1, \"B\" })\n",
               WRONG "2: option a: a choice is a word of a-z, 0-9 and '_', or an integer from 0");
  file_refused(
      l,
      "$stage \"a\"\n$local a = option(\"a\", { 1, 2 })\n$local b = option(\"a_b\", { 1, 2 "
      "})\n",
      WRONG "3: option a_b and option a look alike in an epilogue's name");
}

static void test_own_folder(void **state) {
  fixture *const l = *state;
  put(l, "mine/square.cu.in", "$stage \"x * x\"\n$map()\nx *= x;\n");
  plans(l, "hidden = { 64 }, epilogue = { { 'residual', 'square' } }, stages = 'mine'");
  assert_string_equal(l->plan.stages, "mine");
  assert_string_equal(first(l, LAMPAR_ONESHOT)->epilogue, "residual+square");
  /* A changed stage file changes the plan. */
  char path[SCRATCH_PATH_BYTES];
  scratch_path(&l->s, "mine/square.cu.in", path);
  size_t found = 0;
  for (size_t i = 0; i < l->read.count; ++i) found += strcmp(l->read.paths[i], path) == 0;
  assert_int_equal(found, 1);
  lampar_files_free(&l->read);
  renders(l, LAMPAR_ONESHOT,
          "residual: x + residual\nmap - {\n  x += residual;\n}\n"
          "square: x * x\nmap - {\n  x *= x;\n}\n"
          "residual.residual bf16 element in 0\n");
  found = 0;
  for (size_t i = 0; i < l->read.count; ++i) found += strcmp(l->read.paths[i], path) == 0;
  assert_int_equal(found, 1);
  refused(
      l, "hidden = { 64 }, epilogue = { { 'sqare' } }, stages = 'mine'",
      "2: epilogue[1]: unknown stage \"sqare\"; the nearest known is square; stages are the files "
      "NAME.cu.in in templates/epilogues and mine");
  put(l, "mine/norm.cu.in", norm);
  refused(l, "hidden = { 64 }, epilogue = { { 'norm' } }, stages = 'mine'",
          "2: epilogue[1]: stage norm is in both templates/epilogues and mine; give yours another "
          "name");
  put(l, "mine/square.cu.in", "$stage \"x * x\"\n$map()\n${hiden}\n");
  assert_int_equal(plan_fields(l, "hidden = { 64 }, epilogue = { { 'square' } }, stages = 'mine'"),
                   LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(),
                      "mine/square.cu.in:3: unknown name hiden; the nearest known is hidden");
}

/* A plan and stage files that have changed since do not make a kernel with other operands. */
static void test_changed_since(void **state) {
  fixture *const l = *state;
  plans(l, "hidden = { 64 }, epilogue = { { 'residual' } }");
  put(l, "epilogues/residual.cu.in",
      "$stage \"x + residual\"\n$operand { name = \"other\", per = \"element\" }\n$map()\nx;\n");
  char *source;
  assert_int_equal(lampar_render(l->s.folder, NULL, first(l, LAMPAR_ONESHOT), NULL, &source, NULL),
                   LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(),
                      "epilogue residual: the stage files declare other operands "
                      "than the plan has; make the plan again");
}

static void test_line_directives(void **state) {
  fixture *const l = *state;
  plans(l, "hidden = { 64 }, epilogue = { { 'group' } }");
  char *source;
  const lampar_render_options options = {.line_directives = true};
  assert_int_equal(
      lampar_render(l->s.folder, NULL, first(l, LAMPAR_ONESHOT), &options, &source, NULL),
      LAMPAR_OK);
  assert_non_null(strstr(source, "#line 8 \"templates/epilogues/group.cu.in\"\n  partial = x;\n"));
  assert_non_null(strstr(source, "#line 1 \"templates/parts/help.cuh.in\"\nhelp 64\n"));
  free(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      fixture_test(test_what_templates_get),
      fixture_test(test_amax_ahead),
      fixture_test(test_totals),
      fixture_test(test_steps_without_totals),
      fixture_test(test_what_sections_use),
      fixture_test(test_no_stages),
      fixture_test(test_options),
      fixture_test(test_mistakes_of_specs),
      fixture_test(test_dropped),
      fixture_test(test_mistakes_of_files),
      fixture_test(test_own_folder),
      fixture_test(test_changed_since),
      fixture_test(test_line_directives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
