#include "jit/thread_pool.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct thread_pool {
  const lampar_tasks *tasks;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  size_t next;    /* task to start */
  size_t running; /* threads */
  size_t *done;   /* tasks in the order in which they ended */
  size_t done_count;
  bool is_stopped;
  lampar_failure failure; /* the first */
} thread_pool;

static void fail(thread_pool *pool, lampar_status status) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->failure.status == LAMPAR_OK) lampar_failure_save(&pool->failure, status);
  pool->is_stopped = true;
  pthread_mutex_unlock(&pool->mutex);
}

static bool pop_task(thread_pool *pool, size_t *task) {
  pthread_mutex_lock(&pool->mutex);
  const bool is_left = !pool->is_stopped && pool->next < pool->tasks->count;
  if (is_left) *task = pool->next++;
  pthread_mutex_unlock(&pool->mutex);
  return is_left;
}

static void push_done(thread_pool *pool, size_t task) {
  pthread_mutex_lock(&pool->mutex);
  pool->done[pool->done_count++] = task;
  pthread_cond_signal(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *argument) {
  thread_pool *const pool = argument;
  const lampar_tasks *const tasks = pool->tasks;
  void *state = NULL;
  lampar_status status = tasks->begin != NULL ? tasks->begin(tasks->user, &state) : LAMPAR_OK;
  for (size_t task; status == LAMPAR_OK && pop_task(pool, &task);) {
    status = tasks->run(tasks->user, state, task);
    if (status == LAMPAR_OK) push_done(pool, task);
  }
  if (status != LAMPAR_OK) fail(pool, status);
  if (tasks->end != NULL && state != NULL) tasks->end(state);
  pthread_mutex_lock(&pool->mutex);
  --pool->running;
  pthread_cond_signal(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* On the calling thread, until no thread runs. `finished` is called without the mutex. */
static void report_finished(thread_pool *pool) {
  const lampar_tasks *const tasks = pool->tasks;
  size_t reported = 0;
  pthread_mutex_lock(&pool->mutex);
  while (pool->running > 0 || reported < pool->done_count) {
    if (reported == pool->done_count) {
      pthread_cond_wait(&pool->changed, &pool->mutex);
      continue;
    }
    const size_t task = pool->done[reported++];
    if (tasks->finished == NULL || pool->is_stopped) continue;
    pthread_mutex_unlock(&pool->mutex);
    const bool goes_on = tasks->finished(tasks->user, task);
    pthread_mutex_lock(&pool->mutex);
    if (!goes_on) pool->is_stopped = true;
  }
  pthread_mutex_unlock(&pool->mutex);
}

/* Returns how many threads have started. */
static size_t start_threads(thread_pool *pool, pthread_t *threads, size_t count) {
  size_t started = 0;
  pthread_mutex_lock(&pool->mutex);
  while (started < count && pthread_create(&threads[started], NULL, work, pool) == 0) ++started;
  pool->running += started;
  pthread_mutex_unlock(&pool->mutex);
  return started;
}

lampar_status lampar_tasks_run(const lampar_tasks *tasks) {
  if (tasks->count == 0) return LAMPAR_OK;
  const size_t wanted = tasks->threads < tasks->count ? tasks->threads : tasks->count;
  thread_pool pool = {
      .tasks = tasks, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  lampar_status status = LAMPAR_OK;
  pthread_t *const threads = calloc(wanted, sizeof *threads);
  pool.done = calloc(tasks->count, sizeof *pool.done);
  if (threads == NULL || pool.done == NULL) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu tasks", tasks->count);
    goto out;
  }
  const size_t started = start_threads(&pool, threads, wanted);
  if (started == 0) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no thread can be started");
  report_finished(&pool);
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  if (pool.failure.status != LAMPAR_OK) status = lampar_failure_raise(&pool.failure);
out:
  pthread_cond_destroy(&pool.changed);
  pthread_mutex_destroy(&pool.mutex);
  free(threads);
  free(pool.done);
  return status;
}
