/* The state of one row between the stages of an epilogue, shared by epilogue_check.c and the checks
 * of quantising stages. */
#ifndef LAMPAR_ROW_CHECK_H
#define LAMPAR_ROW_CHECK_H

#include "verify/finished_call.h"

typedef struct lampar_row_check {
  const lampar_finished_call *call;
  uint32_t dtype;
  size_t hidden;
  uint64_t row;
  const char *stage; /* "rmsnorm.offset_1", of `stage_length` characters */
  int stage_length;
  bool is_stored_next;  /* norm_out, or the end, comes next: the norm's result is visible */
  float *x;             /* [hidden] */
  double *tolerance;    /* [hidden] error that the kernel's x may have besides a rounding */
  bool is_exact;        /* x equals the kernel's, bit for bit */
  double *norm;         /* [hidden] */
  float *weight, *bias; /* [hidden] */
  uint8_t *codes;       /* [hidden] */
} lampar_row_check;

/* The operand of a name; NULL: the epilogue does not declare it. */
const lampar_operand_memory *lampar_row_check_operand(const lampar_row_check *check,
                                                      const char *name,
                                                      const lampar_operand_info **info);

/* An element of an operand that is an input, as a number. */
float lampar_row_check_number(const lampar_operand_info *info, const lampar_operand_memory *memory,
                              size_t index);

/* The number of an operand per tensor or per call. */
float lampar_row_check_scalar(const lampar_row_check *check, const char *name);

/* The value of an option in the stage's text; `absent` when it has none. */
const char *lampar_row_check_option(const lampar_row_check *check, const char *name,
                                    const char *absent, char value[32]);

/* MISMATCH, with the place and both values. */
lampar_status lampar_row_check_wrong(const lampar_row_check *check, const char *operand,
                                     size_t index, double got, double expected);

/* Compares x with a stored row and, if that is right, continues with the stored values: then x is
 * exact. */
lampar_status lampar_row_check_store(lampar_row_check *check, const char *operand,
                                     const lampar_operand_memory *memory);

/* The quantising stages, codes and scales. */
lampar_status lampar_row_check_fp8_static(lampar_row_check *check);
lampar_status lampar_row_check_fp8_token(lampar_row_check *check);
lampar_status lampar_row_check_fp8_group(lampar_row_check *check);
lampar_status lampar_row_check_nvfp4(lampar_row_check *check);
lampar_status lampar_row_check_int8_token(lampar_row_check *check);

#endif
