/* The host's C++ compiler, which makes the kernels of arch emu: source in, shared object out. The
 * emulated device loads that as a GPU loads a cubin. */
#ifndef LAMPAR_EMU_COMPILE_H
#define LAMPAR_EMU_COMPILE_H

#include <stddef.h>

#include "base/error.h"

/* $CXX, which has to be one program without arguments; else c++. */
const char *lampar_emu_compiler(void);

/* The first line of its --version; the caller frees it. Errors: SYSTEM (no such compiler). */
lampar_status lampar_emu_compiler_version(char **version);

/* Its command line but for the output; ends with NULL. */
extern const char *const lampar_emu_compiler_arguments[];

/* Compiles `source`, which messages call `name`. `*code` and `*log` (what the compiler says; never
 * NULL after OK or a compile error) are the caller's to free. The same source and compiler give the
 * same bytes: no path, time or build id gets in. Several threads may compile at once.
 * Errors: ARGUMENT (the source does not compile), SYSTEM (no compiler, no room for its files). */
lampar_status lampar_emu_compile(const char *name, const char *source, char **code, size_t *size,
                                 char **log);

#endif
