/* Shared libraries that are found at run time. */
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

/* Opens `file` if it is not NULL; else what is in the process already (it has `symbol`, or it is
 * `soname`); else `soname`. Libraries stay open: their handles may be in the caller's hands.
 * Errors: `failure`, with the loader's words. */
lampar_status lampar_library_open(lampar_library *library, const char *file, const char *soname,
                                  const char *symbol, lampar_status failure);

/* The emulated device: LAMPAR_EMU_LIBRARY, or beside this program or library, or on the loader's
 * path. */
lampar_status lampar_library_open_emulator(lampar_library *library, lampar_status failure);

/* Errors: `failure`, naming library and symbol. */
lampar_status lampar_library_symbol(const lampar_library *library, const char *name, void **address,
                                    lampar_status failure);

#endif
