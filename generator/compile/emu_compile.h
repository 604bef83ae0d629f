/* The host's C++ compiler, which compiles the kernels of arch emu: source in, shared object out.
 * The emulated device loads that object as a GPU loads a cubin. */
#ifndef LAMPAR_EMU_COMPILE_H
#define LAMPAR_EMU_COMPILE_H

#include <stddef.h>

#include "base/error.h"

/* $CXX, which has to be one program without arguments; else c++. */
const char *lampar_emu_compiler(void);

/* The first line of its --version; the caller frees it. Errors: SYSTEM (no such compiler, or it
 * fails). */
lampar_status lampar_emu_compiler_version(char **version);

/* Its arguments without the output and the input; ends with NULL. */
enum { LAMPAR_EMU_COMPILER_ARGUMENTS = 18 };
extern const char *const lampar_emu_compiler_arguments[LAMPAR_EMU_COMPILER_ARGUMENTS + 1];

/* Compiles `source`, which messages call `name`. The caller frees `*code` and `*log` (the
 * compiler's messages; never NULL after OK or a compile error). The same source and compiler give
 * the same bytes: no path, time or build id gets in. Several threads may compile at once. Errors:
 * ARGUMENT (the source does not compile), SYSTEM (no compiler, or its files cannot be written). */
lampar_status lampar_emu_compile(const char *name, const char *source, char **code, size_t *size,
                                 char **log);

#endif
