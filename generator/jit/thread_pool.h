/* A number of tasks over a number of threads. */
#ifndef LAMPAR_JIT_WORK_H
#define LAMPAR_JIT_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct lampar_jit_work {
  size_t count;   /* of tasks */
  size_t threads; /* at most; at least 1 */
  /* What a thread keeps from task to task; may be NULL. */
  lampar_status (*begin)(void *user, void **state);
  void (*end)(void *state);
  lampar_status (*run)(void *user, void *state, size_t task);
  /* After each task that succeeded, on the calling thread; false: no more are begun. May be NULL.
   */
  bool (*finished)(void *user, size_t task);
  void *user;
} lampar_jit_work;

/* Tasks are begun in ascending order. Returns when no thread is left. After a failure no more are
 * begun, and the first failure is returned with its message. Stopped by `finished`: OK. Errors:
 * SYSTEM (no thread), or what a task returned. */
lampar_status lampar_jit_work_run(const lampar_jit_work *work);

#endif
