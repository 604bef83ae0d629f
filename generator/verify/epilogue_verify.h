/* Verification of one fused kernel: calls of given sizes in several layouts, held against the
 * reference, and the outputs of all ranks against each other. */
#ifndef LAMPAR_EPILOGUE_VERIFY_H
#define LAMPAR_EPILOGUE_VERIFY_H

#include "verify/epilogue_trial.h"

/* On the ranks' open groups. `rows` are the sizes, `*calls` gets the number of calls. A stage of a
 * user's own has no reference: then `*has_reference` is false, and only the ranks and the bytes
 * beside the outputs are compared. Errors: SYSTEM for a wrong result, and those of the calls. */
lampar_status lampar_epilogue_verify(lampar_ranks *ranks, lampar_epilogue_trials *trials,
                                     const lampar_variant *variant, const uint64_t *rows,
                                     size_t count, uint64_t seed, size_t *calls,
                                     bool *has_reference);

#endif
