/* Shared libraries that are loaded at run time. */
#ifndef LAMPAR_LIBRARY_H
#define LAMPAR_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "lampar/lampar.h"

enum { LAMPAR_PATH_BYTES = 256 };

typedef struct lampar_library {
  void *handle;
  char path[LAMPAR_PATH_BYTES]; /* as the loader knows it */
} lampar_library;

/* LAMPAR_DEVICE=emu; ARGUMENT for any other value. */
lampar_status lampar_device_is_emulated(bool *emulated);

/* Opens `file` if it is not NULL; else the library that the process already has (by `symbol`, then
 * by `soname`); else `soname`. Libraries are never closed, because callers may hold their handles.
 * Errors: `failure`, with the loader's message. */
lampar_status lampar_library_open(lampar_library *library, const char *file, const char *soname,
                                  const char *symbol, lampar_status failure);

/* The emulated device: LAMPAR_EMU_LIBRARY; else the file next to this program or library; else the
 * loader's search. */
lampar_status lampar_library_open_emulator(lampar_library *library, lampar_status failure);

/* Errors: `failure`, naming library and symbol. */
lampar_status lampar_library_symbol(const lampar_library *library, const char *name, void **address,
                                    lampar_status failure);

#endif
