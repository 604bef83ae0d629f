#include "jit/jit_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/environment.h"
#include "jit/thread_pool.h"
#include "template/render.h"

enum {
  /* The most that a kernel waits for what other processes do. Their claims grow old before that. */
  PATIENCE_SECONDS = 20,
  LOOK_AGAIN_MS = 2, /* then ever less often */
  LOOK_AGAIN_MS_MAX = 64,
};

lampar_status lampar_jit_kernels_open(const lampar_plan *plan, lampar_jit_kernels *kernels) {
  *kernels = (lampar_jit_kernels){.count = plan->variant_count};
  kernels->list = calloc(plan->variant_count, sizeof *kernels->list);
  if (kernels->list == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for %zu kernels", plan->variant_count);
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

/* Task 0 is to open the compiler, which takes as long as the sources of many kernels. */
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
  LAMPAR_TRY(lampar_jit_work_run(&(lampar_jit_work){.count = kernels->count + 1,
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

typedef struct compiling {
  lampar_jit_kernels *kernels;
  size_t *order; /* of the missing kernels: at random, so that processes begin with others */
  size_t count;
  size_t done;
  size_t total;
  atomic_bool is_stopped;
} compiling;

static time_t seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

static bool look_again(const compiling *c, lampar_jit_kernel *kernel) {
  if (!lampar_cache_find_again(c->kernels->cache, &kernel->key, c->kernels->compiler.build,
                               &kernel->code))
    return false;
  kernel->origin = LAMPAR_JIT_CACHED;
  return true;
}

static lampar_status compile(const compiling *c, lampar_jit_kernel *kernel) {
  lampar_cache *const cache = c->kernels->cache;
  const lampar_jit_compiler *const compiler = &c->kernels->compiler;
  const lampar_status status =
      lampar_jit_compile(compiler, kernel->key.name, kernel->source, &kernel->code);
  if (status == LAMPAR_OK) {
    kernel->origin = LAMPAR_JIT_COMPILED;
    lampar_cache_store(cache, &kernel->key, &kernel->code);
  }
  lampar_cache_unclaim(cache, &kernel->key, compiler->build);
  return status;
}

/* Makes the kernel, unless another process does: then it is left for later, or waited for. No more
 * are begun at a time than there are cores, however many processes start together. */
static lampar_status make(compiling *c, lampar_jit_kernel *kernel, bool waits) {
  lampar_cache *const cache = c->kernels->cache;
  const uint8_t *const build = c->kernels->compiler.build;
  const time_t start = seconds();
  for (long pause_ms = LOOK_AGAIN_MS; !look_again(c, kernel);) {
    if (atomic_load(&c->is_stopped)) return LAMPAR_OK;
    if (seconds() - start > PATIENCE_SECONDS) return compile(c, kernel);
    if (lampar_cache_claims(cache) < c->kernels->limit) {
      if (lampar_cache_claim(cache, &kernel->key, build)) {
        /* Its maker may have finished between the look and the claim. */
        if (!look_again(c, kernel)) return compile(c, kernel);
        lampar_cache_unclaim(cache, &kernel->key, build);
        return LAMPAR_OK;
      }
      if (!waits) return LAMPAR_OK;
    }
    nanosleep(&(struct timespec){.tv_nsec = pause_ms * 1000000L}, NULL);
    if (pause_ms < LOOK_AGAIN_MS_MAX) pause_ms *= 2;
  }
  return LAMPAR_OK;
}

static lampar_status make_unclaimed(void *user, void *state, size_t task) {
  (void)state;
  compiling *const c = user;
  return make(c, &c->kernels->list[c->order[task]], false);
}

static lampar_status make_claimed(void *user, void *state, size_t task) {
  (void)state;
  compiling *const c = user;
  return make(c, &c->kernels->list[c->order[task]], true);
}

static bool tell(void *user, size_t task) {
  compiling *const c = user;
  const lampar_jit_kernel *const kernel = &c->kernels->list[c->order[task]];
  if (kernel->origin == LAMPAR_JIT_MISSING) return true;
  ++c->done;
  if (c->kernels->progress == NULL ||
      c->kernels->progress(c->kernels->progress_user, (uint32_t)c->done, (uint32_t)c->total,
                           kernel->key.name) == 0)
    return true;
  atomic_store(&c->is_stopped, true);
  return false;
}

/* Those that are still missing, in random order. */
static void list_missing(compiling *c) {
  c->count = 0;
  for (size_t i = 0; i < c->kernels->count; ++i) {
    const lampar_jit_kernel *const kernel = &c->kernels->list[i];
    if (kernel->is_mine && kernel->origin == LAMPAR_JIT_MISSING) c->order[c->count++] = i;
  }
  for (size_t i = c->count; i > 1; --i) {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) return;
    const size_t other = number % i, kept = c->order[i - 1];
    c->order[i - 1] = c->order[other];
    c->order[other] = kept;
  }
}

static lampar_status run(compiling *c,
                         lampar_status (*task)(void *user, void *state, size_t task)) {
  list_missing(c);
  LAMPAR_TRY(lampar_jit_work_run(&(lampar_jit_work){.count = c->count,
                                                    .threads = c->kernels->threads,
                                                    .run = task,
                                                    .finished = tell,
                                                    .user = c}));
  if (!atomic_load(&c->is_stopped)) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM,
                     "stopped by the progress function after %zu of %zu kernels", c->done,
                     c->total);
}

lampar_status lampar_jit_kernels_compile(lampar_jit_kernels *kernels) {
  compiling c = {.kernels = kernels};
  c.order = calloc(kernels->count, sizeof *c.order);
  if (c.order == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for %zu kernels", kernels->count);
  list_missing(&c);
  c.total = c.count;
  lampar_status status = LAMPAR_OK;
  for (size_t i = 0; c.total > 0 && !kernels->compiler.is_there && status == LAMPAR_OK; ++i)
    if (kernels->list[i].origin == LAMPAR_JIT_MISSING)
      status = lampar_jit_kernels_refuse(kernels, &kernels->list[i]);
  if (status == LAMPAR_OK) status = run(&c, make_unclaimed);
  if (status == LAMPAR_OK) status = run(&c, make_claimed);
  free(c.order);
  return status;
}
