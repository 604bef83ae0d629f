/* A call as a kernel takes it: which addresses, strides and sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "group/launch.h"

enum { HIDDEN = 64, ROWS = 4 };

static const lampar_variant row = {
    .arch = 90,
    .algorithm = LAMPAR_ONESHOT,
    .world = 2,
    .dtype = LAMPAR_BF16,
    .hidden = HIDDEN,
    .max_rows = ROWS,
    .max_bytes = ROWS * HIDDEN * 2,
    .threads = 32,
    .cluster = 1,
    .vectors_per_warp = 1,
};

static char *address(uintptr_t value) {
  return (char *)value;
}

static lampar_call call_of(uint64_t rows, uint64_t hidden) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = address(0x1000);
  call.output = address(0x2000);
  call.rows = rows;
  call.hidden = hidden;
  return call;
}

static lampar_variant aligned(lampar_variant variant) {
  variant.alignment = 16;
  return variant;
}

static lampar_variant flat(void) {
  lampar_variant variant = row;
  variant.hidden = 0;
  variant.max_rows = 0;
  return variant;
}

/* The kernel for any address takes its slow path, the other one refuses and says why. */
static void expect_odd(lampar_variant variant, const lampar_call *call, const char *message) {
  lampar_arguments arguments = {0};
  assert_int_equal(lampar_arguments_fill_from_call(&arguments, call, &variant), LAMPAR_OK);
  assert_int_equal(arguments.is_vectorized, 0);
  variant = aligned(variant);
  assert_int_equal(lampar_arguments_fill_from_call(&arguments, call, &variant),
                   LAMPAR_ERROR_ARGUMENT);
  if (strstr(lampar_last_error(), message) == NULL) fail_msg("%s", lampar_last_error());
  assert_non_null(strstr(lampar_last_error(), "build the pack without alignment = 16"));
}

static void expect_whole(lampar_variant variant, const lampar_call *call) {
  for (int i = 0; i < 2; ++i) {
    lampar_arguments arguments = {0};
    assert_int_equal(lampar_arguments_fill_from_call(&arguments, call, &variant), LAMPAR_OK);
    assert_int_equal(arguments.is_vectorized, 1);
    variant = aligned(variant);
  }
}

static void addresses(void **state) {
  (void)state;
  lampar_call call = call_of(ROWS, HIDDEN);
  expect_whole(row, &call);
  call.input = address(0x1008);
  expect_odd(row, &call, "call.input (0x1008) is not aligned to 16 bytes");
  call = call_of(ROWS, HIDDEN);
  call.output = address(0x2002);
  expect_odd(row, &call, "call.output (0x2002) is not aligned to 16 bytes");
  expect_odd(flat(), &call, "call.output (0x2002) is not aligned to 16 bytes");
}

static void strides(void **state) {
  (void)state;
  lampar_call call = call_of(ROWS, HIDDEN);
  call.input_stride = HIDDEN + 4;
  expect_odd(row, &call, "call.input_stride is not a multiple of 16 bytes");
  call.input_stride = HIDDEN + 8;
  expect_whole(row, &call);
  expect_odd(flat(), &call, "call.input_stride leaves gaps between rows");
  call.output_stride = HIDDEN + 1;
  expect_odd(row, &call, "call.output_stride is not a multiple of 16 bytes");
  call.rows = 1; /* whose strides mean nothing */
  expect_whole(row, &call);
  expect_whole(flat(), &call);
}

static void sizes(void **state) {
  (void)state;
  const lampar_call whole = call_of(3, 8), odd = call_of(3, 9);
  const lampar_variant any = flat(), only = aligned(flat());
  expect_whole(flat(), &whole);
  lampar_arguments arguments = {0};
  assert_int_equal(lampar_arguments_fill_from_call(&arguments, &odd, &any), LAMPAR_OK);
  assert_int_equal(lampar_arguments_fill_from_call(&arguments, &odd, &only), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(),
                      "call: a message of 54 bytes is not a multiple of 16: pad it or build the "
                      "pack without alignment = 16");
}

/* Smaller elements go with less than 16 bytes of the message. */
static void operands(void **state) {
  (void)state;
  lampar_variant variant = row;
  strcpy(variant.epilogue, "residual");
  variant.operand_count = 2;
  variant.operands[0] = (lampar_operand_info){.name = "residual", .dtype = LAMPAR_BF16};
  variant.operands[1] = (lampar_operand_info){.name = "fp8", .dtype = LAMPAR_F8E4M3, .output = 1};
  lampar_operand given[] = {{.name = "residual", .data = address(0x3000), .dtype = LAMPAR_BF16},
                            {.name = "fp8", .data = address(0x4008), .dtype = LAMPAR_F8E4M3}};
  lampar_call call = call_of(ROWS, HIDDEN);
  call.operands = given;
  call.operand_count = 2;
  expect_whole(variant, &call);
  given[1].data = address(0x4004);
  expect_odd(variant, &call, "operand \"fp8\": its address is not a multiple of 8 bytes");
  given[1].data = address(0x4008);
  given[0].data = address(0x3008);
  expect_odd(variant, &call, "operand \"residual\": its address is not a multiple of 16 bytes");
  given[0].data = address(0x3000);
  given[0].stride = HIDDEN + 4;
  expect_odd(variant, &call, "operand \"residual\": its stride is not a multiple of 16 bytes");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses),
      cmocka_unit_test(strides),
      cmocka_unit_test(sizes),
      cmocka_unit_test(operands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
