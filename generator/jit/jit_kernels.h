/* The kernels of a plan on their way from variant to code: source, cache, compiler. */
#ifndef LAMPAR_JIT_KERNELS_H
#define LAMPAR_JIT_KERNELS_H

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
  bool is_mine; /* this rank compiles it, if it is missing */
} lampar_jit_kernel;

typedef struct lampar_jit_kernels {
  lampar_jit_kernel *list; /* in the order of the plan */
  size_t count;
  lampar_cache *cache;
  lampar_jit_compiler compiler;
  const char *templates; /* folder; NULL: the built-in ones */
  lampar_own_stages own; /* of the plan */
  bool is_shared;        /* ranks share the work: none waits for another's lock of the cache */
  size_t threads;
  lampar_jit_progress progress; /* may be NULL */
  void *progress_user;
} lampar_jit_kernels;

/* Allocates the list; the caller fills the rest of the struct. The plan must outlive it. Errors:
 * SYSTEM. */
lampar_status lampar_jit_kernels_open(const lampar_plan *plan, lampar_jit_kernels *kernels);

/* Frees the list and its kernels, and closes the compiler. */
void lampar_jit_kernels_close(lampar_jit_kernels *kernels);

/* Opens the compiler of the kernels' arch, renders every source, and loads the kernels that the
 * cache has. Errors: those of rendering. */
lampar_status lampar_jit_kernels_find(lampar_jit_kernels *kernels);

/* Compiles the missing kernels of this rank. Of several processes with one cache one compiles at a
 * time; the others wait for what it stores, for a bounded time. Errors: those of compiling;
 * CANCELLED (by the progress function). */
lampar_status lampar_jit_kernels_compile(lampar_jit_kernels *kernels);

/* The error of a missing kernel when there is no compiler: NO_KERNEL when compiling is disabled,
 * else SYSTEM. */
lampar_status lampar_jit_kernels_refuse(const lampar_jit_kernels *kernels,
                                        const lampar_jit_kernel *kernel);

#endif
