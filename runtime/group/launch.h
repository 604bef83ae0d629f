/* Launches a kernel for a call. */
#ifndef LAMPAR_LAUNCH_H
#define LAMPAR_LAUNCH_H

#include "group/kernels.h"
#include "pack/arguments.h"

/* Fills the arguments that depend on the call: pointers, strides, counts, operands. Errors:
 * ARGUMENT. */
lampar_status lampar_arguments_fill_from_call(lampar_arguments *arguments, const lampar_call *call,
                                              const lampar_variant *variant);

/* Whether all blocks of a single-pass kernel are resident at once. They must be, because ranks wait
 * for each other's blocks. */
bool lampar_launch_fits(const lampar_kernel *kernel, const lampar_arguments *arguments);

lampar_status lampar_launch(const lampar_driver *driver, const lampar_kernel *kernel,
                            lampar_arguments *arguments, bool programmatic,
                            struct CUstream_st *stream);

#endif
