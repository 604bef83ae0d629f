/* Compares the outputs of a finished fused call with the results of its stages.
 *
 * The stages are applied row by row, in fp32 as the kernels compute. Sums, biases and residuals are
 * known bit for bit; a norm may differ by one unit in the last place from its float64 value. Where
 * a norm is stored, the check continues with the stored values, so that everything after it is
 * known bit for bit again. Where it is not, the results after it may differ by one code. */
#ifndef LAMPAR_EPILOGUE_CHECK_H
#define LAMPAR_EPILOGUE_CHECK_H

#include "verify/finished_call.h"

/* Writes every output to its `expected`; where there is more than one right answer, the one that
 * the call gave. Bytes that are no element of an output are not touched. Errors: MISMATCH for a
 * wrong result, with stage, operand, row, element, got and expected; ARGUMENT for a stage without a
 * reference. */
lampar_status lampar_epilogue_check(const lampar_finished_call *call);

/* Whether all stages are known, here or as functions of one element (may be NULL). */
bool lampar_epilogue_has_reference(const lampar_variant *variant,
                                   const lampar_stage_map *own_stages);

/* Whether the epilogue leaves its result in an operand; otherwise it is in the call's output. */
bool lampar_epilogue_quantizes(const lampar_variant *variant);

#endif
