/* The entry points that the emulator exports: those of the runtime's two tables, and one of its
 * own.
 */
#ifndef LAMPAR_EMU_API_H
#define LAMPAR_EMU_API_H

#include "cuda/driver.h"
#include "cuda/nccl.h"
#include "emulator/exec/errors.h"

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(field, symbol, parameters) EXPORT int symbol parameters;
LAMPAR_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(type, field, symbol, parameters) EXPORT type symbol parameters;
LAMPAR_NCCL_FUNCTIONS(DECLARE)
#undef DECLARE

/* The schedule from here on is that of the seed. No kernel may be running. */
EXPORT int lampar_emu_set_seed(uint64_t seed);

#endif
