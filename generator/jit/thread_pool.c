#include "jit/thread_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct thread_pool {
  const lampar_jit_work *work;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  size_t next;    /* task to begin */
  size_t running; /* threads */
  size_t *done;   /* tasks in the order of their ends, for the calling thread */
  size_t done_count;
  bool is_stopped;
  lampar_status status; /* of the first failure */
  char message[1024];
} thread_pool;

static void fail(thread_pool *pool, lampar_status status) {
  pthread_mutex_lock(&pool->mutex);
  if (pool->status == LAMPAR_OK) {
    pool->status = status;
    snprintf(pool->message, sizeof pool->message, "%s", lampar_last_error());
  }
  pool->is_stopped = true;
  pthread_mutex_unlock(&pool->mutex);
}

static bool pop_task(thread_pool *pool, size_t *task) {
  pthread_mutex_lock(&pool->mutex);
  const bool is_left = !pool->is_stopped && pool->next < pool->work->count;
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

static void *serve(void *argument) {
  thread_pool *const pool = argument;
  const lampar_jit_work *const work = pool->work;
  void *state = NULL;
  lampar_status status = work->begin != NULL ? work->begin(work->user, &state) : LAMPAR_OK;
  for (size_t task; status == LAMPAR_OK && pop_task(pool, &task);) {
    status = work->run(work->user, state, task);
    if (status == LAMPAR_OK) push_done(pool, task);
  }
  if (status != LAMPAR_OK) fail(pool, status);
  if (work->end != NULL && state != NULL) work->end(state);
  pthread_mutex_lock(&pool->mutex);
  --pool->running;
  pthread_cond_signal(&pool->changed);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* The calling thread: tells what is done until no thread runs. The mutex is free while it tells. */
static void report_progress(thread_pool *pool) {
  size_t told = 0;
  pthread_mutex_lock(&pool->mutex);
  while (pool->running > 0 || told < pool->done_count) {
    if (told == pool->done_count) {
      pthread_cond_wait(&pool->changed, &pool->mutex);
      continue;
    }
    const size_t task = pool->done[told++];
    const bool is_wanted = pool->work->finished != NULL && !pool->is_stopped;
    pthread_mutex_unlock(&pool->mutex);
    const bool goes_on = !is_wanted || pool->work->finished(pool->work->user, task);
    pthread_mutex_lock(&pool->mutex);
    if (!goes_on) pool->is_stopped = true;
  }
  pthread_mutex_unlock(&pool->mutex);
}

lampar_status lampar_jit_work_run(const lampar_jit_work *work) {
  if (work->count == 0) return LAMPAR_OK;
  const size_t wanted = work->threads < work->count ? work->threads : work->count;
  thread_pool pool = {.work = work};
  pthread_t *const threads = calloc(wanted, sizeof *threads);
  pool.done = calloc(work->count, sizeof *pool.done);
  lampar_status status = LAMPAR_OK;
  size_t begun = 0;
  if (threads == NULL || pool.done == NULL) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for %zu tasks", work->count);
    goto out;
  }
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.changed, NULL);
  for (; begun < wanted; ++begun) {
    pthread_mutex_lock(&pool.mutex);
    ++pool.running;
    pthread_mutex_unlock(&pool.mutex);
    if (pthread_create(&threads[begun], NULL, serve, &pool) == 0) continue;
    pthread_mutex_lock(&pool.mutex);
    --pool.running;
    pthread_mutex_unlock(&pool.mutex);
    break;
  }
  if (begun == 0) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no thread can be started");
  report_progress(&pool);
  for (size_t i = 0; i < begun; ++i) pthread_join(threads[i], NULL);
  pthread_cond_destroy(&pool.changed);
  pthread_mutex_destroy(&pool.mutex);
  if (pool.status != LAMPAR_OK) status = lampar_fail(pool.status, "%s", pool.message);
out:
  free(threads);
  free(pool.done);
  return status;
}
