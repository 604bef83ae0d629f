/* The checker of fused calls: it takes what a plain fp32 kernel gives, and finds every single
 * element that is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pack/dtype.h"
#include "verify/epilogue_check.h"
#include "verify/epilogue_layout.h"
#include "verify/epilogue_samples.h"
#include "verify/formats.h"
#include "verify/reference.h"

enum { HIDDEN = 64, ROWS = 16, WORLD = 2, GROUP = 32, BYTES = ROWS * HIDDEN * 4 };

typedef struct fixture {
  lampar_epilogue_samples samples;
  char expected[LAMPAR_OPERANDS_MAX + 1][BYTES], got[LAMPAR_OPERANDS_MAX + 1][BYTES];
  lampar_finished_call call;
} fixture;

static void declare(lampar_variant *v, const char *name, uint32_t dtype, uint32_t granularity,
                    bool output) {
  lampar_operand_info *info = &v->operands[v->operand_count++];
  *info = (lampar_operand_info){.dtype = dtype, .granularity = granularity, .output = output};
  if (granularity == LAMPAR_GRANULARITY_GROUP) info->group = GROUP;
  strncpy(info->name, name, sizeof info->name - 1);
}

static fixture *open_fixture(const lampar_variant *variant) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  assert_int_equal(lampar_epilogue_samples_create(variant, ROWS, 1, 0, &f->samples), LAMPAR_OK);
  f->call = (lampar_finished_call){.variant = &f->samples.variant, .rows = ROWS};
  for (int rank = 0; rank < WORLD; ++rank) f->call.input[rank] = f->samples.inputs.input[rank];
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    const lampar_operand_info *info = &variant->operands[i];
    const uint64_t stride = lampar_operand_stride(variant, info, ROWS);
    f->call.operand[i] = (lampar_operand_memory){f->expected[i], f->got[i], stride};
    f->call.value[i] = f->samples.value[i];
    if (f->samples.operand[i] != NULL)
      memcpy(f->expected[i], f->samples.operand[i],
             lampar_operand_extent(variant, info, ROWS, stride) * lampar_dtype_bytes(info->dtype));
  }
  f->call.output = (lampar_operand_memory){f->expected[LAMPAR_OPERANDS_MAX],
                                           f->got[LAMPAR_OPERANDS_MAX], HIDDEN};
  return f;
}

static void close_fixture(fixture *f) {
  lampar_epilogue_samples_destroy(&f->samples);
  free(f);
}

static float number(const fixture *f, int operand, size_t index) {
  const uint32_t dtype = f->samples.variant.operands[operand].dtype;
  return lampar_decode(dtype, lampar_element_load(dtype, f->samples.operand[operand], index));
}

static float rounded(float x) {
  return lampar_decode(LAMPAR_BF16, lampar_encode(LAMPAR_BF16, x));
}

static float input(const fixture *f, int rank, size_t index) {
  return lampar_decode(LAMPAR_BF16, lampar_element_load(LAMPAR_BF16, f->call.input[rank], index));
}

static float sum_at(const fixture *f, size_t index) {
  return rounded(input(f, 0, index) + input(f, 1, index));
}

/* Accepted as it is; refused with any one bit of an output's element changed. */
static void expect_sharp(fixture *f, char *output, size_t bytes, size_t step, uint8_t flip) {
  assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_OK);
  for (size_t at = 0; at < bytes; at += step) {
    output[at] = (char)((uint8_t)output[at] ^ flip);
    if (lampar_epilogue_check(&f->call) == LAMPAR_OK) fail_msg("byte %zu changed unseen", at);
    output[at] = (char)((uint8_t)output[at] ^ flip);
  }
}

/* Operands 0 bias, 1 residual, 2 residual_out: known bit for bit. */
static void residual_is_exact(void **state) {
  (void)state;
  lampar_variant v = {
      .world = WORLD, .dtype = LAMPAR_BF16, .hidden = HIDDEN, .epilogue = "bias+residual"};
  declare(&v, "bias", LAMPAR_F32, LAMPAR_GRANULARITY_COLUMN, false);
  declare(&v, "residual", LAMPAR_BF16, LAMPAR_GRANULARITY_ELEMENT, false);
  declare(&v, "residual_out", LAMPAR_BF16, LAMPAR_GRANULARITY_ELEMENT, true);
  fixture *f = open_fixture(&v);
  for (size_t i = 0; i < ROWS * HIDDEN; ++i) {
    const float x = rounded(sum_at(f, i) + number(f, 0, i % HIDDEN)) + number(f, 1, i);
    lampar_element_store(LAMPAR_BF16, f->got[2], i, lampar_encode(LAMPAR_BF16, x));
    lampar_element_store(LAMPAR_BF16, f->got[LAMPAR_OPERANDS_MAX], i,
                         lampar_encode(LAMPAR_BF16, x));
  }
  /* Row 0 is finite: in a NaN, another bit is no difference. */
  expect_sharp(f, f->got[2], 2 * HIDDEN, 2, 1);
  expect_sharp(f, f->got[LAMPAR_OPERANDS_MAX], 2 * HIDDEN, 2, 1);
  close_fixture(f);
}

/* Operands 0 weight, 1 eps, 2 norm, 3 quantized, 4 scale. */
static fixture *norm_and_groups(void) {
  lampar_variant v = {.world = WORLD,
                      .dtype = LAMPAR_BF16,
                      .hidden = HIDDEN,
                      .epilogue = "rmsnorm.offset_1+norm_out+fp8_group.group_32.scale_ue8m0"};
  declare(&v, "weight", LAMPAR_BF16, LAMPAR_GRANULARITY_COLUMN, false);
  declare(&v, "eps", LAMPAR_F32, LAMPAR_GRANULARITY_CALL, false);
  declare(&v, "norm", LAMPAR_BF16, LAMPAR_GRANULARITY_ELEMENT, true);
  declare(&v, "quantized", LAMPAR_F8E4M3, LAMPAR_GRANULARITY_ELEMENT, true);
  declare(&v, "scale", LAMPAR_U32, LAMPAR_GRANULARITY_GROUP, true);
  fixture *f = open_fixture(&v);
  for (size_t row = 0; row < ROWS; ++row) {
    float x[HIDDEN], squares = 0;
    for (size_t i = 0; i < HIDDEN; ++i) {
      x[i] = sum_at(f, row * HIDDEN + i);
      squares += x[i] * x[i];
    }
    const float inverse = 1 / sqrtf(squares / HIDDEN + f->call.value[1]);
    for (size_t i = 0; i < HIDDEN; ++i) {
      x[i] = rounded(x[i] * inverse * (1 + number(f, 0, i)));
      lampar_element_store(LAMPAR_BF16, f->got[2], row * HIDDEN + i,
                           lampar_encode(LAMPAR_BF16, x[i]));
    }
    for (size_t g = 0; g < HIDDEN / GROUP; ++g) {
      float amax = 448 * 0x1p-126f; /* what has the least scale */
      for (size_t i = g * GROUP; i < (g + 1) * GROUP; ++i) amax = fmaxf(amax, fabsf(x[i]));
      const uint8_t power = lampar_e8m0_above(amax / 448);
      f->got[4][row * 4 + g] = (char)power; /* the row's word, low byte first */
      for (size_t i = g * GROUP; i < (g + 1) * GROUP; ++i)
        f->got[3][row * HIDDEN + i] = (char)lampar_e4m3_encode(x[i] * ldexpf(1, 127 - power));
    }
  }
  return f;
}

static void quantised_is_exact_behind_a_stored_norm(void **state) {
  (void)state;
  fixture *f = norm_and_groups();
  expect_sharp(f, f->got[3], ROWS * HIDDEN, 1, 1);
  expect_sharp(f, f->got[4], ROWS * 4, 1, 1); /* the two bytes that are padding as well */
  close_fixture(f);
}

/* One unit in the last place passes, where what follows fits; four do not. */
static void norm_has_a_bound(void **state) {
  (void)state;
  fixture *f = norm_and_groups();
  for (size_t i = 8 * HIDDEN; i < 9 * HIDDEN; ++i) { /* a row of finite numbers */
    const uint32_t bits = lampar_element_load(LAMPAR_BF16, f->got[2], i);
    lampar_element_store(LAMPAR_BF16, f->got[2], i, bits + 4);
    assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_ERROR_MISMATCH);
    lampar_element_store(LAMPAR_BF16, f->got[2], i, bits);
  }
  assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_OK);
  close_fixture(f);
}

/* Stores the row's codes and scale for an amax. Operands 0 weight, 1 eps, 2 quantized, 3 scale. */
static void quantize_row(fixture *f, size_t row, const float *x, float amax) {
  lampar_element_store(LAMPAR_F32, f->got[3], row, lampar_encode(LAMPAR_F32, amax / 448));
  for (size_t i = 0; i < HIDDEN; ++i)
    f->got[2][row * HIDDEN + i] = (char)lampar_e4m3_encode(x[i] * (448 / amax));
}

/* Behind a norm that is not stored, the amax is known to the tolerance of the norm's elements: one
 * unit in the last place passes, the amax of a part of the row does not. */
static void scale_has_a_bound_behind_a_norm_that_is_not_stored(void **state) {
  (void)state;
  lampar_variant v = {
      .world = WORLD, .dtype = LAMPAR_BF16, .hidden = HIDDEN, .epilogue = "rmsnorm+fp8_token"};
  declare(&v, "weight", LAMPAR_BF16, LAMPAR_GRANULARITY_COLUMN, false);
  declare(&v, "eps", LAMPAR_F32, LAMPAR_GRANULARITY_CALL, false);
  declare(&v, "quantized", LAMPAR_F8E4M3, LAMPAR_GRANULARITY_ELEMENT, true);
  declare(&v, "scale", LAMPAR_F32, LAMPAR_GRANULARITY_ROW, true);
  fixture *f = open_fixture(&v);
  float x[ROWS][HIDDEN], amax[ROWS];
  for (size_t row = 0; row < ROWS; ++row) {
    float squares = 0;
    for (size_t i = 0; i < HIDDEN; ++i) {
      x[row][i] = sum_at(f, row * HIDDEN + i);
      squares += x[row][i] * x[row][i];
    }
    const float inverse = 1 / sqrtf(squares / HIDDEN + f->call.value[1]);
    amax[row] = 448 * 0x1p-126f;
    for (size_t i = 0; i < HIDDEN; ++i) {
      x[row][i] = rounded(x[row][i] * inverse * number(f, 0, i));
      amax[row] = fmaxf(amax[row], fabsf(x[row][i]));
    }
    quantize_row(f, row, x[row], amax[row]);
  }
  assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_OK);

  const size_t row = 8; /* of finite numbers */
  quantize_row(f, row, x[row], amax[row] * (1 + 0x1p-8f));
  assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_OK);
  for (int i = 0; i < 2; ++i) {
    quantize_row(f, row, x[row], amax[row] * (i == 0 ? 0.96f : 1.04f));
    assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_ERROR_MISMATCH);
    assert_non_null(strstr(lampar_last_error(), "wrong scale"));
  }
  close_fixture(f);
}

static float twice(float x) {
  return 2 * x;
}

static void own_stages_need_a_map(void **state) {
  (void)state;
  static const lampar_stage_map maps[] = {{"mine", twice}, {NULL, NULL}};
  lampar_variant v = {
      .world = WORLD, .dtype = LAMPAR_BF16, .hidden = HIDDEN, .epilogue = "mine.size_2"};
  fixture *f = open_fixture(&v);
  for (size_t i = 0; i < ROWS * HIDDEN; ++i)
    lampar_element_store(LAMPAR_BF16, f->got[LAMPAR_OPERANDS_MAX], i,
                         lampar_encode(LAMPAR_BF16, 2 * sum_at(f, i)));
  assert_false(lampar_epilogue_has_reference(&v, NULL));
  assert_int_equal(lampar_epilogue_check(&f->call), LAMPAR_ERROR_ARGUMENT);
  f->call.own_stages = maps;
  assert_true(lampar_epilogue_has_reference(&v, maps));
  expect_sharp(f, f->got[LAMPAR_OPERANDS_MAX], 2 * HIDDEN, 2, 1);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(residual_is_exact),
      cmocka_unit_test(quantised_is_exact_behind_a_stored_norm),
      cmocka_unit_test(norm_has_a_bound),
      cmocka_unit_test(scale_has_a_bound_behind_a_norm_that_is_not_stored),
      cmocka_unit_test(own_stages_need_a_map),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
