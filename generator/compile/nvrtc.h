/* NVRTC, NVIDIA's compiler as a library: source in, cubin out. Loaded with dlopen, so that the tool
 * starts without it and can report what is missing. It needs neither a GPU nor a driver. */
#ifndef LAMPAR_NVRTC_H
#define LAMPAR_NVRTC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct lampar_nvrtc lampar_nvrtc;

/* Opens the file that LAMPAR_NVRTC_LIBRARY names; without it, the NVRTC that the process has
 * loaded, else the one that the loader finds, else one in the usual folders of toolkits and Python
 * wheels. The caller closes it. Errors: SYSTEM (none found, or too old; the message says how to get
 * one). */
lampar_status lampar_nvrtc_open(lampar_nvrtc **nvrtc);
void lampar_nvrtc_close(lampar_nvrtc *nvrtc);

/* Owned by `nvrtc`: its file; "13.0"; and what distinguishes two libraries of one version:
 * the linker's build id, else the XXH3-128 of the file. */
const char *lampar_nvrtc_path(const lampar_nvrtc *nvrtc);
const char *lampar_nvrtc_version(const lampar_nvrtc *nvrtc);
const char *lampar_nvrtc_build(const lampar_nvrtc *nvrtc);

/* The architectures that it supports, ascending; 0 ends the list. Owned by `nvrtc`. */
const int *lampar_nvrtc_archs(const lampar_nvrtc *nvrtc);

/* Errors: ARGUMENT (it does not compile for `arch`; names library, version and what it supports).
 */
lampar_status lampar_nvrtc_require(const lampar_nvrtc *nvrtc, uint32_t arch);

typedef struct lampar_nvrtc_options {
  bool line_info; /* for profilers: the source line of each instruction */
} lampar_nvrtc_options;

enum { LAMPAR_NVRTC_ARGUMENTS_MAX = 8, LAMPAR_NVRTC_ARCH_ARGUMENT_BYTES = 48 };

/* The options of a compilation, without the arch; constant texts. Returns their number. */
size_t lampar_nvrtc_arguments(const lampar_nvrtc *nvrtc, const lampar_nvrtc_options *options,
                              const char *arguments[LAMPAR_NVRTC_ARGUMENTS_MAX]);

/* Compiles `source`, which messages and debug information call `name`. The caller frees `*cubin`
 * (NULL after an error) and `*log` (the compiler's messages; never NULL after OK or a compile
 * error). Several threads may compile at once. Errors: ARGUMENT (arch, or the source does not
 * compile), SYSTEM. */
lampar_status lampar_nvrtc_compile(const lampar_nvrtc *nvrtc, const char *name, const char *source,
                                   uint32_t arch, const lampar_nvrtc_options *options, char **cubin,
                                   size_t *size, char **log);

#endif
