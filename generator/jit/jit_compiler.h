/* The compiler of an arch: NVRTC, or for arch emu the host's C++ compiler. */
#ifndef LAMPAR_JIT_COMPILER_H
#define LAMPAR_JIT_COMPILER_H

#include "cache/cache_entry.h"
#include "compile/nvrtc.h"

typedef struct lampar_jit_compiler {
  uint32_t arch;
  bool is_there;                      /* else `why` is the message */
  lampar_nvrtc *nvrtc;                /* NULL for arch emu */
  uint8_t build[LAMPAR_DIGEST_BYTES]; /* differs for compilers and options that may compile one
                                         source to different code */
  char why[768];
} lampar_jit_compiler;

/* Never fails: a missing compiler matters only if a kernel is missing too. The caller closes it. */
void lampar_jit_compiler_open(lampar_jit_compiler *compiler, uint32_t arch);
void lampar_jit_compiler_close(lampar_jit_compiler *compiler);

/* Fills `code`, which the caller frees. Several threads may compile at once. Errors: those of
 * lampar_nvrtc_compile and lampar_emu_compile, with the compiler's first message. */
lampar_status lampar_jit_compile(const lampar_jit_compiler *compiler, const char *kernel,
                                 const char *source, lampar_cache_code *code);

#endif
