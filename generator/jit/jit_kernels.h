/* The kernels of a plan on their way from variant to code: source, cache, compiler. */
#ifndef LAMPAR_JIT_KERNELS_H
#define LAMPAR_JIT_KERNELS_H

#include <stdatomic.h>

#include "cache/cache.h"
#include "jit/jit_compiler.h"
#include "lampar/lampar_jit.h"
#include "plan/plan.h"
#include "template/stages.h"

typedef enum lampar_jit_origin {
  LAMPAR_JIT_MISSING = 0,
  LAMPAR_JIT_CACHED,
  LAMPAR_JIT_COMPILED,
  LAMPAR_JIT_RECEIVED,
} lampar_jit_origin;

typedef struct lampar_jit_kernel {
  const lampar_variant *variant;
  char *source;
  lampar_cache_key key;
  lampar_cache_code code; /* bytes are NULL while it is missing */
  lampar_jit_origin origin;
  bool is_mine; /* to be made on this rank */
} lampar_jit_kernel;

typedef struct lampar_jit_kernels {
  lampar_jit_kernel *list; /* in the order of the plan */
  size_t count;
  lampar_cache *cache;
  lampar_jit_compiler compiler;
  const char *templates; /* folder; NULL: those carried inside */
  lampar_own_stages own; /* of the plan */
  size_t threads;
  size_t limit; /* of kernels that are compiled at a time, by all processes with this cache */
  lampar_jit_progress progress; /* may be NULL */
  void *progress_user;
} lampar_jit_kernels;

/* Makes the list. The rest of the struct is the caller's to fill. The plan must outlive it. Errors:
 * SYSTEM. */
lampar_status lampar_jit_kernels_open(const lampar_plan *plan, lampar_jit_kernels *kernels);

/* Frees the list with what it holds, and closes the compiler. */
void lampar_jit_kernels_close(lampar_jit_kernels *kernels);

/* Opens the compiler of the kernels' arch, renders every source, and takes from the cache what is
 * there. Errors: those of rendering. */
lampar_status lampar_jit_kernels_find(lampar_jit_kernels *kernels);

/* Makes the missing ones that are this rank's. Errors: those of compiling; SYSTEM (stopped). */
lampar_status lampar_jit_kernels_compile(lampar_jit_kernels *kernels);

/* The status of a kernel that cannot be made: no compiler, or not allowed. */
lampar_status lampar_jit_kernels_refuse(const lampar_jit_kernels *kernels,
                                        const lampar_jit_kernel *kernel);

#endif
