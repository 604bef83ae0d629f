/* From a call to a launched kernel. */
#ifndef LAMPAR_LAUNCH_H
#define LAMPAR_LAUNCH_H

#include "group/kernels.h"
#include "pack/arguments.h"

/* Fills what depends on the call: pointers, strides, counts, operands. Errors: ARGUMENT, from the
 * operands. */
lampar_status lampar_arguments_fill_from_call(lampar_arguments *arguments, const lampar_call *call,
                                              const lampar_variant *variant);

/* Whether a single-pass kernel's blocks would all be on the device at once, as ranks that wait for
 * each other need it. */
bool lampar_launch_fits(const lampar_kernel *kernel, const lampar_arguments *arguments);

lampar_status lampar_launch(const lampar_driver *driver, const lampar_kernel *kernel,
                            lampar_arguments *arguments, bool programmatic,
                            struct CUstream_st *stream);

#endif
