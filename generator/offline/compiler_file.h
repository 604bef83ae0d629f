/* compiler.json: the compiler and the options of a build. It is an input of every compile step, so
 * that a change of the compiler rebuilds all kernels, and it is part of the manifest. */
#ifndef LAMPAR_COMPILER_FILE_H
#define LAMPAR_COMPILER_FILE_H

#include "compile/nvrtc.h"

/* `nvrtc` is NULL when no kernel needs it; `has_emu`: some kernel is of arch emu. The caller frees
 * `text`. It holds no path: the same compiler gives the same text everywhere. Errors: SYSTEM. */
lampar_status lampar_compiler_file_make(const lampar_nvrtc *nvrtc,
                                        const lampar_nvrtc_options *options, bool has_emu,
                                        char **text);

#endif
