/* Tasks run by a pool of threads that lives for one call. */
#ifndef LAMPAR_THREAD_POOL_H
#define LAMPAR_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct lampar_tasks {
  size_t count;
  size_t threads; /* at most; at least 1 */
  /* The state of a thread, handed from task to task; both may be NULL. */
  lampar_status (*begin)(void *user, void **state);
  void (*end)(void *state);
  lampar_status (*run)(void *user, void *state, size_t task);
  /* Called on the calling thread after each task that succeeded; false: no further task starts. May
   * be NULL. */
  bool (*finished)(void *user, size_t task);
  void *user;
} lampar_tasks;

/* Tasks start in ascending order. Returns when all threads have ended. After a failure no further
 * task starts, and the first failure is returned with its message. Stopped by `finished`: OK.
 * Errors: SYSTEM (no thread, out of memory), or what a task returned. */
lampar_status lampar_tasks_run(const lampar_tasks *tasks);

#endif
