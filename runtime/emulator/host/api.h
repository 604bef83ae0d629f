/* The entry points that the emulator exports, exactly those of the runtime's two tables. */
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

#endif
