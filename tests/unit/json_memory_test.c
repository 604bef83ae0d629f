/* JSON is complete or an error: cJSON runs out of memory at its first allocation, then at its
 * second one, and so on, until everything is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "offline/compiler_file.h"
#include "pack/manifest.h"
#include "pack_fixture.h"
#include "plan/plan.h"

static const lampar_variant kernels[] = {
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 2,
     .dtype = LAMPAR_BF16,
     .persistent = 1,
     .max_bytes = 1 << 20,
     .threads = 256,
     .cluster = 1,
     .vectors_per_warp = 1},
    {.arch = 90,
     .algorithm = LAMPAR_ONESHOT,
     .world = 2,
     .dtype = LAMPAR_BF16,
     .hidden = 2048,
     .max_rows = 4,
     .max_bytes = 4 * 2048 * 2,
     .threads = 256,
     .cluster = 1,
     .vectors_per_warp = 1,
     .epilogue = "residual",
     .operand_count = 1,
     .operands = {{.name = "residual"}}},
};
enum { COUNT = 2 };

static int allocations_left;

static void *allocate(size_t size) {
  return allocations_left-- > 0 ? malloc(size) : NULL;
}

typedef struct writer_input {
  lampar_plan plan;
  uint8_t *pack;
  size_t pack_size;
} writer_input;

typedef lampar_status (*writer)(const writer_input *input, char **text);

static lampar_status write_plan(const writer_input *input, char **text) {
  return lampar_plan_to_json(&input->plan, text);
}

static lampar_status write_manifest(const writer_input *input, char **text) {
  return lampar_manifest_make(&input->plan, input->pack, input->pack_size, "x.pack", NULL, text);
}

static lampar_status write_compiler_file(const writer_input *input, char **text) {
  (void)input;
  return lampar_compiler_file_make(NULL, NULL, true, text);
}

/* Returns how often memory was short. */
static int exhaust(writer write, const writer_input *input) {
  char *whole = NULL;
  cJSON_InitHooks(NULL);
  assert_int_equal(write(input, &whole), LAMPAR_OK);
  int failures = 0;
  for (;; ++failures) {
    char *text = NULL;
    allocations_left = failures;
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
    const lampar_status status = write(input, &text);
    cJSON_InitHooks(NULL);
    if (status == LAMPAR_OK) {
      assert_string_equal(text, whole);
      free(text);
      break;
    }
    assert_int_equal(status, LAMPAR_ERROR_SYSTEM);
    assert_non_null(strstr(lampar_last_error(), "out of memory"));
    assert_null(text);
  }
  free(whole);
  return failures;
}

static void every_writer(void **state) {
  (void)state;
  lampar_variant variants[COUNT];
  memcpy(variants, kernels, sizeof variants);
  lampar_skip skip = {"what", "why"};
  writer_input input = {.plan = {.name = "x",
                                 .variants = variants,
                                 .variant_count = COUNT,
                                 .skips = &skip,
                                 .skip_count = 1}};
  input.pack = pack_fixture(kernels, COUNT, &input.pack_size);
  assert_true(exhaust(write_plan, &input) > 100);
  assert_true(exhaust(write_manifest, &input) > 100);
  assert_true(exhaust(write_compiler_file, &input) > 10);
  free(input.pack);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_writer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
