/* Ranks that build together: they agree on what is missing, each makes a share of it, and all end
 * up with the same bytes. Collective throughout; a failure of one rank is the failure of all. */
#ifndef LAMPAR_JIT_SHARE_H
#define LAMPAR_JIT_SHARE_H

#include "exchange/exchange.h"
#include "jit/jit_kernels.h"

/* Once every rank has rendered its sources, or failed to (`own`, with its message): decides which
 * kernels are this rank's. Errors: the first failure of a rank, naming it; ARGUMENT (the ranks have
 * other kernels); NO_KERNEL, SYSTEM (a kernel that no rank has and none can make); those of the
 * exchange. */
lampar_status lampar_jit_share_out(const lampar_channel *channel, lampar_jit_kernels *kernels,
                                   lampar_status own);

/* Once every rank has made its share, or failed to: gives every kernel to those that lack it or
 * have it with other bytes, and keeps in the cache what was received. */
lampar_status lampar_jit_share_gather(const lampar_channel *channel, lampar_jit_kernels *kernels,
                                      lampar_status own);

#endif
