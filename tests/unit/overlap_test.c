/* Which memory of a call may be the same, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pack/operands.h"
#include "pack/overlap.h"

enum { ROWS = 4, HIDDEN = 64, ROW_BYTES = 2 * HIDDEN, AREA = 1 << 14 };

/* Addresses only: nothing is read or stored. */
static char *const memory = (char *)(uintptr_t)0x10000;

typedef struct fixture {
  lampar_variant variant;
  lampar_operand operands[4];
  lampar_call call;
} fixture;

/* residual, residual_out and weight in bf16, a scale for each row; every one in an area of its own.
 */
static fixture fused(void) {
  static const lampar_operand_info declared[] = {
      {"residual", LAMPAR_BF16, LAMPAR_GRANULARITY_ELEMENT, 0, 0},
      {"residual_out", LAMPAR_BF16, LAMPAR_GRANULARITY_ELEMENT, 1, 0},
      {"weight", LAMPAR_BF16, LAMPAR_GRANULARITY_COLUMN, 0, 0},
      {"scale", LAMPAR_F32, LAMPAR_GRANULARITY_ROW, 1, 0},
  };
  fixture f = {.variant = {.dtype = LAMPAR_BF16, .hidden = HIDDEN, .operand_count = 4},
               .call = LAMPAR_CALL_INIT};
  memcpy(f.variant.operands, declared, sizeof declared);
  for (uint32_t i = 0; i < 4; ++i)
    f.operands[i] = (lampar_operand){.name = declared[i].name,
                                     .data = memory + (2 + i) * AREA,
                                     .dtype = (lampar_dtype)declared[i].dtype};
  f.call.input = memory;
  f.call.output = memory + AREA;
  f.call.rows = ROWS;
  f.call.hidden = HIDDEN;
  f.call.dtype = LAMPAR_BF16;
  f.call.operand_count = 4;
  return f;
}

static lampar_status check(fixture *f) {
  uint64_t operands[2 * LAMPAR_OPERANDS_MAX];
  uint32_t is_vectorized = 1;
  f->call.operands = f->operands;
  assert_int_equal(lampar_operands_fill_from_call(&f->variant, &f->call, operands, &is_vectorized),
                   LAMPAR_OK);
  return lampar_overlap_check(&f->call, &f->variant, operands);
}

static void refused(fixture *f, const char *message) {
  assert_int_equal(check(f), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
}

#define RESIDUAL     operands[0].data
#define RESIDUAL_OUT operands[1].data
#define WEIGHT       operands[2].data
#define SCALE        operands[3].data

static void takes_an_output_in_place_of_an_input(void **state) {
  (void)state;
  fixture f = fused();
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.call.output = memory; /* norm_out = input */
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.RESIDUAL_OUT = f.RESIDUAL;
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.RESIDUAL_OUT = memory; /* residual_out = input */
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.RESIDUAL_OUT = f.RESIDUAL, f.call.output = memory;
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.RESIDUAL = memory; /* inputs may be anywhere */
  assert_int_equal(check(&f), LAMPAR_OK);
}

static void refuses_what_overlaps_partly(void **state) {
  (void)state;
  static const char output[] =
      "call.output overlaps call.input: give both the same address and stride, or separate memory";
  fixture f = fused();
  f.call.output = memory + 2;
  refused(&f, output);
  f.call.output = memory + ROWS * ROW_BYTES - 2; /* the last element */
  refused(&f, output);
  f.call.output = memory + ROWS * ROW_BYTES;
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.call.output = memory, f.call.output_stride = HIDDEN + 8;
  refused(&f, output);
  f.call.input_stride = HIDDEN + 8;
  assert_int_equal(check(&f), LAMPAR_OK);
  f = fused(), f.RESIDUAL_OUT = (char *)f.RESIDUAL + ROW_BYTES;
  refused(&f, "residual_out overlaps residual: give both the same address and stride, or separate "
              "memory");
}

static void refuses_two_outputs_in_one_place(void **state) {
  (void)state;
  fixture f = fused();
  f.RESIDUAL_OUT = f.call.output;
  refused(&f, "call.output and residual_out are stored to the same memory: give each its own");
}

static void refuses_what_other_rows_read(void **state) {
  (void)state;
  fixture f = fused();
  f.WEIGHT = f.call.output;
  refused(&f, "call.output overlaps weight: give it separate memory");
  f = fused(), f.call.rows = 1, f.WEIGHT = f.call.output; /* one row, and still per column */
  refused(&f, "call.output overlaps weight: give it separate memory");
  f = fused(), f.SCALE = (char *)memory + 64;
  refused(&f, "scale overlaps call.input: give it separate memory");
}

static void takes_columns_of_one_tensor(void **state) {
  (void)state;
  fixture f = fused();
  f.call.output = memory + ROW_BYTES;
  f.call.input_stride = f.call.output_stride = 2 * HIDDEN;
  assert_int_equal(check(&f), LAMPAR_OK);
  f.call.output = memory + ROW_BYTES - 2;
  refused(&f, "call.output overlaps call.input: give both the same address and stride, or separate "
              "memory");
  f.call.output = memory + ROW_BYTES + 2; /* runs into the next row of the input */
  refused(&f, "call.output overlaps call.input: give both the same address and stride, or separate "
              "memory");
}

static void looks_at_plain_calls(void **state) {
  (void)state;
  fixture f = fused();
  assert_int_equal(lampar_overlap_check(&f.call, NULL, NULL), LAMPAR_OK);
  f.call.output = memory;
  assert_int_equal(lampar_overlap_check(&f.call, NULL, NULL), LAMPAR_OK);
  f.call.output = memory + 16;
  assert_int_equal(lampar_overlap_check(&f.call, NULL, NULL), LAMPAR_ERROR_ARGUMENT);
}

/* A quantized result has elements of another size, so it cannot take an input's place. */
static void refuses_a_quantized_output_over_its_input(void **state) {
  (void)state;
  fixture f = fused();
  f.variant.operands[1].dtype = f.operands[1].dtype = LAMPAR_F8E4M3;
  f.RESIDUAL_OUT = memory;
  refused(&f,
          "residual_out overlaps call.input: give both the same address and stride, or separate "
          "memory");
  f = fused(), f.variant.operands[1].dtype = f.operands[1].dtype = LAMPAR_F8E4M3;
  f.call.output = memory;
  assert_int_equal(check(&f), LAMPAR_OK); /* unused: the result is the operand */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_an_output_in_place_of_an_input),
      cmocka_unit_test(refuses_what_overlaps_partly),
      cmocka_unit_test(refuses_two_outputs_in_one_place),
      cmocka_unit_test(refuses_what_other_rows_read),
      cmocka_unit_test(takes_columns_of_one_tensor),
      cmocka_unit_test(looks_at_plain_calls),
      cmocka_unit_test(refuses_a_quantized_output_over_its_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
