/* A fused call after it has run: what the checks of its results read. All memory is the host's. */
#ifndef LAMPAR_FINISHED_CALL_H
#define LAMPAR_FINISHED_CALL_H

#include "pack/variant.h"

/* An operand, or the call's output. */
typedef struct lampar_operand_memory {
  char *expected;  /* inputs, and room for outputs */
  const char *got; /* the same bytes after the call */
  uint64_t stride; /* elements between rows (columns of scales: between groups) */
} lampar_operand_memory;

/* A stage that lampar has no reference for, if it is a function of one element. */
typedef struct lampar_stage_map {
  const char *name;
  float (*map)(float x);
} lampar_stage_map;

typedef struct lampar_finished_call {
  const lampar_variant *variant; /* dtype, hidden, world, rounding, epilogue, operands */
  uint64_t rows;
  const void *input[LAMPAR_WORLD_MAX]; /* of each rank, rows x hidden without gaps */
  lampar_operand_memory output;
  lampar_operand_memory operand[LAMPAR_OPERANDS_MAX]; /* as the variant declares them */
  float value[LAMPAR_OPERANDS_MAX];                   /* of operands per call */
  const lampar_stage_map *own_stages;                 /* a NULL name ends the list; may be NULL */
} lampar_finished_call;

#endif
