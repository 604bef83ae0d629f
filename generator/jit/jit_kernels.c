#include "jit/jit_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/environment.h"
#include "jit/thread_pool.h"
#include "template/render.h"

enum {
  MAX_WAIT_SECONDS = 10, /* without a kernel from the process that holds the cache's lock */
  LOOK_AGAIN_MS = 2,     /* then ever less often */
  LOOK_AGAIN_MS_MAX = 64,
};

lampar_status lampar_jit_kernels_open(const lampar_plan *plan, lampar_jit_kernels *kernels) {
  *kernels = (lampar_jit_kernels){.count = plan->variant_count};
  kernels->list = calloc(plan->variant_count, sizeof *kernels->list);
  if (kernels->list == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu kernels", plan->variant_count);
  for (size_t i = 0; i < plan->variant_count; ++i) kernels->list[i].variant = &plan->variants[i];
  return LAMPAR_OK;
}

void lampar_jit_kernels_close(lampar_jit_kernels *kernels) {
  for (size_t i = 0; kernels->list != NULL && i < kernels->count; ++i) {
    free(kernels->list[i].source);
    free(kernels->list[i].code.bytes);
  }
  free(kernels->list);
  lampar_jit_compiler_close(&kernels->compiler);
  *kernels = (lampar_jit_kernels){0};
}

/* ---- sources ---- */

static lampar_status begin_rendering(void *user, void **state) {
  const lampar_jit_kernels *const kernels = user;
  lampar_renderer *renderer;
  LAMPAR_TRY(lampar_renderer_open(kernels->templates, &kernels->own, &renderer));
  *state = renderer;
  return LAMPAR_OK;
}

static void end_rendering(void *state) {
  lampar_renderer_close(state);
}

/* Task 0 opens the compiler, which takes as long as rendering many kernels. */
static lampar_status render(void *user, void *state, size_t task) {
  lampar_jit_kernels *const kernels = user;
  if (task == 0) {
    lampar_jit_compiler_open(&kernels->compiler, kernels->list[0].variant->arch);
    return LAMPAR_OK;
  }
  lampar_jit_kernel *const kernel = &kernels->list[task - 1];
  LAMPAR_TRY(lampar_renderer_run(state, kernel->variant, NULL, &kernel->source, NULL));
  lampar_cache_key_make(kernel->variant, kernel->source, &kernel->key);
  return LAMPAR_OK;
}

lampar_status lampar_jit_kernels_find(lampar_jit_kernels *kernels) {
  LAMPAR_TRY(lampar_tasks_run(&(lampar_tasks){.count = kernels->count + 1,
                                              .threads = kernels->threads,
                                              .begin = begin_rendering,
                                              .end = end_rendering,
                                              .run = render,
                                              .user = kernels}));
  const uint8_t *const build = kernels->compiler.is_there ? kernels->compiler.build : NULL;
  for (size_t i = 0; i < kernels->count; ++i) {
    lampar_jit_kernel *const kernel = &kernels->list[i];
    if (lampar_cache_find(kernels->cache, &kernel->key, build, &kernel->code))
      kernel->origin = LAMPAR_JIT_CACHED;
  }
  return LAMPAR_OK;
}

lampar_status lampar_jit_kernels_refuse(const lampar_jit_kernels *kernels,
                                        const lampar_jit_kernel *kernel) {
  const char *const folder = lampar_cache_folder(kernels->cache);
  const bool is_disabled = lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE_JIT);
  return lampar_fail(is_disabled ? LAMPAR_ERROR_NO_KERNEL : LAMPAR_ERROR_SYSTEM,
                     "%s is not in the cache (%s), and nothing can be compiled: %s",
                     kernel->key.name, folder != NULL ? folder : "no folder is written",
                     kernels->compiler.why);
}

/* ---- compiling ---- */

typedef struct compilation {
  lampar_jit_kernels *kernels;
  size_t *order; /* the missing kernels */
  size_t count;
  size_t done;
  bool is_stopped;
} compilation;

/* Whether another process has stored the kernel meanwhile. */
static bool look_again(const compilation *c, lampar_jit_kernel *kernel) {
  if (!lampar_cache_find_again(c->kernels->cache, &kernel->key, c->kernels->compiler.build,
                               &kernel->code))
    return false;
  kernel->origin = LAMPAR_JIT_CACHED;
  return true;
}

static lampar_status compile(void *user, void *state, size_t task) {
  (void)state;
  const compilation *const c = user;
  lampar_jit_kernel *const kernel = &c->kernels->list[c->order[task]];
  if (kernel->origin != LAMPAR_JIT_MISSING || look_again(c, kernel)) return LAMPAR_OK;
  LAMPAR_TRY(
      lampar_jit_compile(&c->kernels->compiler, kernel->key.name, kernel->source, &kernel->code));
  kernel->origin = LAMPAR_JIT_COMPILED;
  lampar_cache_store(c->kernels->cache, &kernel->key, &kernel->code);
  return LAMPAR_OK;
}

static bool report_progress(void *user, size_t task) {
  compilation *const c = user;
  const lampar_jit_kernels *const kernels = c->kernels;
  ++c->done;
  c->is_stopped = kernels->progress != NULL &&
                  kernels->progress(kernels->progress_user, (uint32_t)c->done, (uint32_t)c->count,
                                    kernels->list[c->order[task]].key.name) != 0;
  return !c->is_stopped;
}

/* In random order, so that processes that cannot wait for each other start with different kernels.
 */
static void list_missing(compilation *c) {
  for (size_t i = 0; i < c->kernels->count; ++i) {
    const lampar_jit_kernel *const kernel = &c->kernels->list[i];
    if (kernel->is_mine && kernel->origin == LAMPAR_JIT_MISSING) c->order[c->count++] = i;
  }
  for (size_t i = c->count; i > 1; --i) {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return;
    const size_t other = number % i, last = c->order[i - 1];
    c->order[i - 1] = c->order[other];
    c->order[other] = last;
  }
}

static time_t seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* Kernels that are still missing. */
static size_t look_for_all(const compilation *c) {
  size_t missing = 0;
  for (size_t i = 0; i < c->count; ++i) {
    lampar_jit_kernel *const kernel = &c->kernels->list[c->order[i]];
    missing += kernel->origin == LAMPAR_JIT_MISSING && !look_again(c, kernel);
  }
  return missing;
}

/* Waits while another process compiles, as long as that brings missing kernels. */
static void wait_for_others(const compilation *c) {
  size_t missing = c->count;
  time_t since = seconds();
  for (long pause_ms = LOOK_AGAIN_MS; !lampar_cache_lock(c->kernels->cache);) {
    const size_t left = look_for_all(c);
    if (left == 0) return;
    if (left < missing) since = seconds();
    else if (seconds() - since >= MAX_WAIT_SECONDS) return;
    missing = left;
    nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000L}, NULL);
    if (pause_ms < LOOK_AGAIN_MS_MAX) pause_ms *= 2;
  }
}

static lampar_status compile_all(compilation *c) {
  lampar_jit_kernels *const kernels = c->kernels;
  if (c->count == 0) return LAMPAR_OK;
  if (!kernels->compiler.is_there)
    return lampar_jit_kernels_refuse(kernels, &kernels->list[c->order[0]]);
  if (!kernels->is_shared) wait_for_others(c);
  const lampar_status status = lampar_tasks_run(&(lampar_tasks){.count = c->count,
                                                                .threads = kernels->threads,
                                                                .run = compile,
                                                                .finished = report_progress,
                                                                .user = c});
  lampar_cache_unlock(kernels->cache);
  LAMPAR_TRY(status);
  if (!c->is_stopped) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_CANCELLED,
                     "stopped by the progress function after %zu of %zu kernels", c->done,
                     c->count);
}

lampar_status lampar_jit_kernels_compile(lampar_jit_kernels *kernels) {
  compilation c = {.kernels = kernels};
  c.order = calloc(kernels->count, sizeof *c.order);
  if (c.order == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu kernels", kernels->count);
  list_missing(&c);
  const lampar_status status = compile_all(&c);
  free(c.order);
  return status;
}
