/* The machine code of a cubin as text, by NVIDIA's disassembler. */
#ifndef LAMPAR_DISASSEMBLY_H
#define LAMPAR_DISASSEMBLY_H

#include <stddef.h>

#include "base/error.h"

/* Prints it on standard output. Errors: SYSTEM (no disassembler, or it failed). */
lampar_status lampar_disassembly_print(const void *cubin, size_t size);

#endif
