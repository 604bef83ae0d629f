/* Finds NVRTC, and identifies its build. */
#ifndef LAMPAR_NVRTC_LIBRARY_H
#define LAMPAR_NVRTC_LIBRARY_H

#include <limits.h>

#include "base/error.h"

typedef struct lampar_nvrtc_library {
  void *handle;
  char path[PATH_MAX];
  char build[64]; /* hexadecimal: the linker's build id, else the XXH3-128 of the file */
} lampar_nvrtc_library;

/* Errors: SYSTEM (no library, or it cannot be loaded). */
lampar_status lampar_nvrtc_library_open(lampar_nvrtc_library *library);
void lampar_nvrtc_library_close(lampar_nvrtc_library *library);

#endif
