/* Inputs of fused calls of one kernel: rows of every rank's input, and the contents of the
 * epilogue's operands. A row's results depend on that row only, so a call may take any run of rows.
 */
#ifndef LAMPAR_EPILOGUE_SAMPLES_H
#define LAMPAR_EPILOGUE_SAMPLES_H

#include "verify/samples.h"

typedef struct lampar_epilogue_samples {
  lampar_variant variant;
  uint64_t rows;
  lampar_samples inputs;              /* rows x hidden */
  void *operand[LAMPAR_OPERANDS_MAX]; /* inputs: all rows, or all columns, or the one number; NULL:
                                         outputs, and operands per call */
  float value[LAMPAR_OPERANDS_MAX];   /* of operands per call */
} lampar_epilogue_samples;

enum {
  /* Kinds of rows, the same every 16: zeros, one huge element, subnormals, a NaN, an infinity,
   * equal elements, negative zeros; the rest are finite numbers over many binades. */
  LAMPAR_SAMPLE_ROW_KINDS = 16,
  /* Sets of the numbers per tensor and per call: common ones, zero, infinity, tiny. */
  LAMPAR_SAMPLE_SCALARS = 4,
};

/* `scalars` is the set. Errors: SYSTEM. */
lampar_status lampar_epilogue_samples_create(const lampar_variant *variant, uint64_t rows,
                                             uint64_t seed, int scalars,
                                             lampar_epilogue_samples *samples);
/* Turns them into samples of the epilogue-only kernel: one rank, whose input is the result of the
 * plain all-reduce. */
void lampar_epilogue_samples_sum(lampar_epilogue_samples *samples);
void lampar_epilogue_samples_destroy(lampar_epilogue_samples *samples);

#endif
