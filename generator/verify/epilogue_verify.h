/* Verification of one fused kernel: calls of given sizes in several layouts, compared with the
 * reference, and the outputs of all ranks with each other. */
#ifndef LAMPAR_EPILOGUE_VERIFY_H
#define LAMPAR_EPILOGUE_VERIFY_H

#include "verify/batch_check.h"

/* On the ranks' open groups. `rows` are the sizes; `*calls` gets the number of calls. A user's own
 * stage has no reference: then `*has_reference` is false, and only the ranks and the bytes between
 * the outputs are compared. Errors: MISMATCH for a wrong result, and those of the calls. */
lampar_status lampar_epilogue_verify(lampar_batches *batches, const lampar_variant *variant,
                                     const uint64_t *rows, size_t count, uint64_t seed,
                                     size_t *calls, bool *has_reference);

#endif
