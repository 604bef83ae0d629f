/* Templates and a variant to source text: parameters, parts, values, errors, and the real
 * templates. */
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
#include "spec/files.h"
#include "template/render.h"

#define PARAMS                                                                                     \
  "$params \"arch world dtype hidden max_rows max_bytes persistent threads trigger watchdog_ms "   \
  "alignment algorithm rounding "                                                                  \
  "cluster vectors_per_warp epilogue\"\n"

static const lampar_variant row = {.arch = 90,
                                   .algorithm = LAMPAR_ONESHOT,
                                   .world = 2,
                                   .dtype = LAMPAR_BF16,
                                   .hidden = 64,
                                   .max_rows = 8,
                                   .max_bytes = 1024,
                                   .threads = 128,
                                   .cluster = 1,
                                   .vectors_per_warp = 1,
                                   .trigger = LAMPAR_TRIGGER_EARLY,
                                   .watchdog_ms = 5};

static void put(const scratch *s, const char *name, const char *text) {
  char path[SCRATCH_PATH_BYTES];
  scratch_write(s, name, text, strlen(text), path);
}

static void gives(const scratch *s, const lampar_variant *variant, bool lines,
                  const char *expected) {
  char *source;
  lampar_files read = {0};
  const lampar_render_options options = {.line_directives = lines};
  if (lampar_render(s->folder, NULL, variant, &options, &source, &read) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  assert_string_equal(source, expected);
  free(source);
  lampar_files_free(&read);
}

/* Renders `text` alone. */
static void alone_gives(const char *text, const char *expected) {
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in", text);
  gives(&s, &row, false, expected);
  scratch_close(&s);
}

static void fails(const scratch *s, const char *message) {
  char *source;
  lampar_files read = {0};
  assert_int_equal(lampar_render(s->folder, NULL, &row, NULL, &source, &read),
                   LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
  lampar_files_free(&read);
}

static void alone_fails(const char *text, const char *message) {
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in", text);
  fails(&s, message);
  scratch_close(&s);
}

static void test_parameters(void **state) {
  (void)state;
  alone_gives(
      PARAMS
      "${arch} ${world} ${dtype} ${hidden} ${persistent} ${threads} ${trigger} ${watchdog_ms}\n"
      "${name} ${lampar_version}\n",
      "sm_90 2 bf16 64 0 128 early 5\nar_oneshot_w2_bf16_h64_sm_90_r8 0.1.0\n");
  alone_fails("$params \"arch world dtype hidden persistent threads trigger watchdog_ms depth\"\n",
              "templates/oneshot.cu.in:1: parameter depth is not given");
  alone_fails(
      "\n$params \"arch world dtype hidden max_rows max_bytes persistent threads trigger alignment "
      "algorithm rounding cluster "
      "vectors_per_warp "
      "epilogue\"\n",
      "templates/oneshot.cu.in:2: parameter watchdog_ms is given, but $params does not name it");
  alone_fails(PARAMS PARAMS, "templates/oneshot.cu.in:2: there is a second $params");
  alone_fails("a\n", "templates/oneshot.cu.in: has no $params line");
  alone_fails("${world}\n" PARAMS,
              "templates/oneshot.cu.in:1: unknown name world; the nearest known is error");
}

static void test_values(void **state) {
  (void)state;
  alone_gives(PARAMS "$a = { 1, x = \"}\" }\n${a[1]}${a.x} $$ ${7 // 2} ${-0x10}\n",
              "1} $ 3 -16\n");
  alone_fails(PARAMS "a\n${world / 2}\n",
              "templates/oneshot.cu.in:3: ${world / 2} is a number with a "
              "fraction; only integers and strings can be substituted");
  alone_fails(PARAMS "${{}}\n",
              "templates/oneshot.cu.in:2: ${{}} is a table; only integers and strings "
              "can be substituted");
  alone_fails(PARAMS "$a = {}\n${a.b}\n",
              "templates/oneshot.cu.in:3: ${a.b} is a nil; only integers and "
              "strings can be substituted");
  alone_fails(PARAMS "${1 == 1}\n",
              "templates/oneshot.cu.in:2: ${1 == 1} is a boolean; only integers "
              "and strings can be substituted");
  alone_fails(PARAMS "\n\n${wrold}\n",
              "templates/oneshot.cu.in:4: unknown name wrold; the nearest known is world");
  alone_fails(PARAMS "$assert(world > 2, \"world: more than 2\")\n",
              "templates/oneshot.cu.in:2: world: more than 2");
  alone_fails(PARAMS "\n${world +}\n", "templates/oneshot.cu.in:3: unexpected symbol near ')'");
  alone_fails(PARAMS "$while true do\n$end\n", "templates/oneshot.cu.in:2: stopped after 20000000 "
                                               "instructions; is there an endless loop?");
}

static void test_parts(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in",
      PARAMS "$whole = 5\n$local inner = 6\n{\n  $if inner == 6 then\n    $part \"a\"\n  $end\n"
             "  $part(\"b\")\n}\n");
  put(&s, "parts/ptx/a.cuh.in", "ptx ${whole}\n\n$part \"c\"\n");
  put(&s, "parts/a.cuh.in", "not this one\n");
  put(&s, "parts/emu/a.cuh.in", "emu ${whole}\n");
  put(&s, "parts/b.cuh.in", "if (b) {\n  $part \"c\"\n}\n");
  put(&s, "parts/c.cuh.in", "c\n");
  gives(&s, &row, false, "{\n  ptx 5\n\n  c\n  if (b) {\n    c\n  }\n}\n");
  gives(&s, &row, true,
        "#line 4 \"templates/oneshot.cu.in\"\n{\n"
        "#line 1 \"templates/parts/ptx/a.cuh.in\"\n  ptx 5\n\n"
        "#line 1 \"templates/parts/c.cuh.in\"\n  c\n"
        "#line 1 \"templates/parts/b.cuh.in\"\n  if (b) {\n"
        "#line 1 \"templates/parts/c.cuh.in\"\n    c\n"
        "#line 3 \"templates/parts/b.cuh.in\"\n  }\n"
        "#line 9 \"templates/oneshot.cu.in\"\n}\n");
  lampar_variant emulated = row;
  emulated.arch = LAMPAR_ARCH_EMU;
  gives(&s, &emulated, false, "{\n  emu 5\n  if (b) {\n    c\n  }\n}\n");
  scratch_close(&s);
}

static void test_files_read(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in", PARAMS "$part \"b\"\n$part \"a\"\n$part \"b\"\n");
  put(&s, "parts/ptx/a.cuh.in", "a\n");
  put(&s, "parts/b.cuh.in", "b\n");
  char *source;
  lampar_files read = {0};
  assert_int_equal(lampar_render(s.folder, NULL, &row, NULL, &source, &read), LAMPAR_OK);
  assert_string_equal(source, "b\na\nb\n");
  static const char *const names[] = {"oneshot.cu.in", "parts/b.cuh.in", "parts/ptx/a.cuh.in"};
  assert_int_equal(read.count, 3);
  for (size_t i = 0; i < 3; ++i) {
    char path[SCRATCH_PATH_BYTES];
    scratch_path(&s, names[i], path);
    assert_string_equal(read.paths[i], path);
  }
  free(source);
  lampar_files_free(&read);
  scratch_close(&s);
}

static void test_wrong_parts(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in", PARAMS "$local inner = 6\n\n$part \"a\"\n");
  fails(&s,
        "templates/oneshot.cu.in:4: $part \"a\": there is neither templates/parts/ptx/a.cuh.in nor "
        "templates/parts/a.cuh.in");
  put(&s, "parts/a.cuh.in", "\n${inner}\n");
  fails(&s, "templates/parts/a.cuh.in:2: unknown name inner; the nearest known is assert");
  put(&s, "parts/a.cuh.in", "$x = = 1\na\n");
  fails(&s, "templates/parts/a.cuh.in:1: unexpected symbol near '='");
  put(&s, "parts/a.cuh.in", "$if world == 2 then\na\n$end\n");
  fails(&s, "templates/parts/a.cuh.in:2: indented by 0, less than the body of the block of line 1");
  put(&s, "parts/a.cuh.in", "$part \"b\"\n");
  put(&s, "parts/b.cuh.in", "b\n$part \"a\"\n");
  fails(
      &s,
      "templates/parts/b.cuh.in:2: $part \"a\": the part uses itself, directly or through another");
  put(&s, "parts/a.cuh.in", "$part \"../oneshot\"\n");
  fails(
      &s,
      "templates/parts/a.cuh.in:1: $part \"../oneshot\": a part's name is made of letters, digits "
      "and '_'");
  put(&s, "parts/a.cuh.in", "$params \"x\"\n");
  fails(&s, "templates/parts/a.cuh.in:1: $params belongs into templates/oneshot.cu.in");
  scratch_close(&s);
}

/* A part says what it uses of what was made known before it. */
static void test_needs(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in", PARAMS "$depth, is_deep = 3, false\n$part \"a\"\n");
  put(&s, "parts/a.cuh.in", "$needs \"depth  is_deep world\"\n${depth}\n");
  gives(&s, &row, false, "3\n");
  put(&s, "parts/a.cuh.in", "\n$needs \"depth height\"\n${depth}\n");
  fails(&s, "templates/parts/a.cuh.in:2: $needs: height is not known here");
  scratch_close(&s);
}

/* What nothing uses is left out, with the remark above it. */
static void test_pruning(void **state) {
  (void)state;
  scratch s;
  scratch_open(&s);
  put(&s, "oneshot.cu.in",
      PARAMS "// Banner: unused(), kUnused.\n"
             "\n"
             "constexpr unsigned kUsed = 1;\n"
             "constexpr unsigned kUnused = 2;  // goes\n"
             "constexpr unsigned kBase = 3;\n"
             "constexpr unsigned kDerived = kBase;\n"
             "\n"
             "// Goes with what it is about.\n"
             "template <class T>\n"
             "__device__ __forceinline__ T unused(T value) {\n"
             "  T twice = value;\n"
             "\n"
             "  return twice + unused(kUnused);\n"
             "}\n"
             "\n"
             "struct alignas(16) Pair {\n"
             "  int word[2];\n"
             "};\n"
             "\n"
             "struct Unused {\n"
             "  Pair pair;\n"
             "};\n"
             "\n"
             "using Alias = Pair;\n"
             "\n"
             "inline int deep() { return kUsed; }\n"
             "\n"
             "__device__ __forceinline__ int used() {\n"
             "  // unused\n"
             "\n"
             "  return deep() + message(\"unused\");\n"
             "}\n"
             "\n"
             "extern \"C\" __global__ void kernel(Alias) { used(); kDerived; }\n");
  gives(&s, &row, false,
        "// Banner: unused(), kUnused.\n"
        "\n"
        "constexpr unsigned kUsed = 1;\n"
        "constexpr unsigned kBase = 3;\n"
        "constexpr unsigned kDerived = kBase;\n"
        "\n"
        "struct alignas(16) Pair {\n"
        "  int word[2];\n"
        "};\n"
        "\n"
        "using Alias = Pair;\n"
        "\n"
        "inline int deep() { return kUsed; }\n"
        "\n"
        "__device__ __forceinline__ int used() {\n"
        "  // unused\n"
        "\n"
        "  return deep() + message(\"unused\");\n"
        "}\n"
        "\n"
        "extern \"C\" __global__ void kernel(Alias) { used(); kDerived; }\n");
  scratch_close(&s);
}

static void test_missing_folder(void **state) {
  (void)state;
  char *source;
  lampar_files read = {0};
  assert_int_not_equal(lampar_render("/nowhere", NULL, &row, NULL, &source, &read), LAMPAR_OK);
  assert_string_equal(lampar_last_error(),
                      "/nowhere/oneshot.cu.in: cannot be read: No such file or directory");
  assert_int_equal(read.count, 0);
}

/* Looks at a source as its reader would. */
static void check_source(const char *name, const char *source) {
  assert_null(strchr(source, '$'));
  assert_null(strstr(source, "#include"));
  assert_null(strstr(source, "\n\n\n"));
  assert_null(strstr(source, " \n"));
  const char *banner = "// Generated by lampar ";
  assert_memory_equal(source, banner, strlen(banner));
  char entry[LAMPAR_NAME_BYTES + 2];
  snprintf(entry, sizeof entry, "%s(", name);
  assert_non_null(strstr(source, entry));
  size_t column = 0;
  int depth = 0;
  const char *line = source;
  for (const char *at = source; *at != '\0'; ++at) {
    depth += (*at == '{') - (*at == '}');
    column = *at == '\n' ? 0 : column + 1;
    if (column == 1) line = at;
    /* Names of kernels, and the messages of remarks, are as long as they are. */
    const char *const text = line + strspn(line, " ");
    if (column > 120 && strncmp(text, "//", 2) != 0 && strncmp(text, name, strlen(name)) != 0)
      fail_msg("%s: a line of more than 120 columns: %.120s", name, line);
  }
  assert_int_equal(column, 0);
  assert_int_equal(depth, 0);
}

/* A variant of every kind; stops at the first index that is none. */
static bool nth_variant(unsigned index, lampar_variant *variant) {
  static const uint32_t archs[] = {80, 89, 90, 100, 103, 120};
  static const uint32_t worlds[] = {2, 3, 16};
  static const uint32_t widths[] = {0, 8, 2880, 7168, 65536};
  *variant = row;
  variant->arch = archs[index % 6], index /= 6;
  variant->world = worlds[index % 3], index /= 3;
  variant->dtype = index % 3, index /= 3;
  variant->hidden = widths[index % 5], index /= 5;
  variant->persistent = index % 2, index /= 2;
  variant->watchdog_ms = index % 2 * 1000, index /= 2;
  variant->trigger = variant->arch < 90 ? LAMPAR_TRIGGER_OFF : index % 3;
  variant->max_rows = variant->hidden > 0 ? 8 : 0;
  variant->algorithm = variant->world > 2 && index % 2 ? LAMPAR_TWOSHOT : LAMPAR_ONESHOT,
  index /= 2;
  return index < 3;
}

/* Copies what was read from one templates folder to another. */
static void copy_templates(const lampar_files *read, const scratch *s) {
  for (size_t i = 0; i < read->count; ++i) {
    char *text;
    size_t size;
    assert_int_equal(lampar_file_read(read->paths[i], 1 << 20, &text, &size), LAMPAR_OK);
    put(s, read->paths[i] + strlen(LAMPAR_TEMPLATES) + 1, text);
    free(text);
  }
}

static void test_real_templates(void **state) {
  (void)state;
  lampar_variant variant;
  /* A step that meets every value of every field. */
  for (unsigned index = 0; nth_variant(index, &variant); index += 7) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&variant, name);
    char *source;
    lampar_files read = {0};
    if (lampar_render(LAMPAR_TEMPLATES, NULL, &variant, NULL, &source, &read) != LAMPAR_OK)
      fail_msg("%s: %s", name, lampar_last_error());
    check_source(name, source);
    free(source);
    lampar_files_free(&read);
  }
}

/* Every stage that there is, alone and in rows of stages, as a plan makes them. */
static const char epilogues[] =
    "return spec { name = 'x', arch = { 'sm_80', 'sm_90', 'sm_120' }, world = { 2, 4 }, "
    "dtype = { 'bf16', 'f32' }, hidden = { 2816, 8192 }, rows = 128, watchdog_ms = 0, "
    "rounding = '%s', weight_dtype = 'f32', epilogue = {\n"
    "  { 'residual' }, { 'bias', 'layernorm' }, { { 'residual', out = 'no' }, 'rmsnorm' },\n"
    "  { 'residual', { 'rmsnorm', weight = 'none' }, 'norm_out', 'fp8_static' },\n"
    "  { { 'rmsnorm', offset = 1 }, 'fp8_token' }, { 'fp8_group' }, { 'nvfp4' },\n"
    "  { { 'fp8_group', group = 64, scale = 'ue8m0' } }, { { 'nvfp4', scales = 'linear' } },\n"
    "  { { 'layernorm', bias = 'no' }, 'int8_token' },\n"
    "} }\n";

static void render_epilogues(const char *rounding) {
  scratch s;
  scratch_open(&s);
  char text[2048], path[SCRATCH_PATH_BYTES];
  snprintf(text, sizeof text, epilogues, rounding);
  scratch_write(&s, "x.lua", text, strlen(text), path);
  lampar_spec spec;
  lampar_plan plan;
  if (lampar_spec_read(path, &spec, NULL) != LAMPAR_OK ||
      lampar_plan_make(&spec, LAMPAR_TEMPLATES, &plan, NULL) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  lampar_renderer *renderer;
  assert_int_equal(lampar_renderer_open(LAMPAR_TEMPLATES, NULL, &renderer), LAMPAR_OK);
  for (size_t i = 0; i < plan.variant_count; ++i) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&plan.variants[i], name);
    char *source;
    if (lampar_renderer_run(renderer, &plan.variants[i], NULL, &source, NULL) != LAMPAR_OK)
      fail_msg("%s: %s", name, lampar_last_error());
    check_source(name, source);
    free(source);
  }
  lampar_renderer_close(renderer);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
  scratch_close(&s);
}

static void test_real_epilogues(void **state) {
  (void)state;
  render_epilogues("unfused");
  render_epilogues("fp32");
}

static void test_same_bytes(void **state) {
  (void)state;
  for (int lines = 0; lines < 2; ++lines) {
    const lampar_render_options options = {.line_directives = lines};
    scratch s;
    scratch_open(&s);
    char *first, *second;
    lampar_files read = {0};
    assert_int_equal(lampar_render(LAMPAR_TEMPLATES, NULL, &row, &options, &first, &read),
                     LAMPAR_OK);
    assert_int_equal(lampar_render(LAMPAR_TEMPLATES, NULL, &row, &options, &second, &read),
                     LAMPAR_OK);
    assert_string_equal(first, second);
    free(second);
    copy_templates(&read, &s);
    assert_int_equal(lampar_render(s.folder, NULL, &row, &options, &second, &read), LAMPAR_OK);
    assert_string_equal(first, second);
    assert_int_equal(strstr(first, "#line ") != NULL, lines);
    free(first);
    free(second);
    lampar_files_free(&read);
    scratch_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters),     cmocka_unit_test(test_values),
      cmocka_unit_test(test_parts),          cmocka_unit_test(test_files_read),
      cmocka_unit_test(test_wrong_parts),    cmocka_unit_test(test_needs),
      cmocka_unit_test(test_pruning),        cmocka_unit_test(test_missing_folder),
      cmocka_unit_test(test_real_templates), cmocka_unit_test(test_real_epilogues),
      cmocka_unit_test(test_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
