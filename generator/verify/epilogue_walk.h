/* One row on its way through the stages of an epilogue: what epilogue_check.c and the stages'
 * checks share. */
#ifndef LAMPAR_EPILOGUE_WALK_H
#define LAMPAR_EPILOGUE_WALK_H

#include "verify/epilogue_check.h"

typedef struct lampar_walk {
  const lampar_finished_call *call;
  uint32_t dtype;
  size_t hidden;
  uint64_t row;
  const char *stage; /* "rmsnorm.offset_1", of `stage_length` characters */
  int stage_length;
  bool is_stored_next;  /* norm_out, or the end, comes next: what a norm gives will be seen */
  float *x;             /* [hidden] */
  double *slack;        /* [hidden] how far the kernel's x may be from x, beside a rounding */
  bool is_exact;        /* x is the kernel's, bit for bit */
  double *norm;         /* [hidden] */
  float *weight, *bias; /* [hidden] */
  uint8_t *codes;       /* [hidden] */
} lampar_walk;

/* The operand of a name; NULL: the epilogue does not declare it. */
const lampar_operand_memory *lampar_walk_operand(const lampar_walk *walk, const char *name,
                                                 const lampar_operand_info **info);

/* An element of an operand that is an input, as a number. */
float lampar_walk_number(const lampar_operand_info *info, const lampar_operand_memory *memory,
                         size_t index);

/* The number of an operand per tensor or per call. */
float lampar_walk_scalar(const lampar_walk *walk, const char *name);

/* The value of an option in the stage's text; `absent` when it is not there. */
const char *lampar_walk_option(const lampar_walk *walk, const char *name, const char *absent,
                               char value[32]);

/* SYSTEM: what came back is not what it must be. */
lampar_status lampar_walk_wrong(const lampar_walk *walk, const char *operand, size_t index,
                                double got, double expected);

/* Holds x against a stored row and, if it is right, takes over what was stored: then x is exact. */
lampar_status lampar_walk_store(lampar_walk *walk, const char *operand,
                                const lampar_operand_memory *memory);

/* The quantising stages, each with its scales. */
lampar_status lampar_walk_fp8_static(lampar_walk *walk);
lampar_status lampar_walk_fp8_token(lampar_walk *walk);
lampar_status lampar_walk_fp8_group(lampar_walk *walk);
lampar_status lampar_walk_nvfp4(lampar_walk *walk);
lampar_status lampar_walk_int8_token(lampar_walk *walk);

#endif
