/* A fuzz target: reads bytes from anywhere, and must never crash, hang or touch memory that is not
 * its own. It counts what it accepts, so that a corpus that only shows refusals is noticed. */
#ifndef LAMPAR_FUZZ_H
#define LAMPAR_FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern size_t fuzz_accepted;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
