/* A finished fused call, held against what its epilogue must give.
 *
 * The stages are walked row by row, in fp32 as the kernels compute. Sums, biases and residuals are
 * known bit for bit; a norm may be one unit in the last place away from its float64 value. Where a
 * norm is stored, the walk goes on with what was stored, so that everything behind it is known bit
 * for bit again. Where it is not, what follows may be one code away. */
#ifndef LAMPAR_EPILOGUE_CHECK_H
#define LAMPAR_EPILOGUE_CHECK_H

#include "pack/variant.h"

/* An operand, or the call's output, in host memory. */
typedef struct lampar_operand_memory {
  char *expected;  /* inputs, and room for outputs */
  const char *got; /* what came back in the same place */
  uint64_t
      stride; /* elements from a row to the next (columns of scales: from a group to the next) */
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

/* Writes every output to its `expected`; where there is more than one right answer, the one that
 * came back. What is no element of an output is left alone. Errors: SYSTEM for a wrong result, with
 * stage, operand, row, element, got and expected; ARGUMENT for a stage without a reference. */
lampar_status lampar_epilogue_check(const lampar_finished_call *call);

/* Whether all stages are known, here or as functions of one element (may be NULL). */
bool lampar_epilogue_has_reference(const lampar_variant *variant,
                                   const lampar_stage_map *own_stages);

/* Whether the epilogue leaves its result in an operand; otherwise it is in the call's output. */
bool lampar_epilogue_quantizes(const lampar_variant *variant);

#endif
