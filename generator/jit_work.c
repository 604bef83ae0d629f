#include "jit_work.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct shop {
  const lampar_jit_work *work;
  pthread_mutex_t mutex;
  pthread_cond_t news;
  size_t next;    /* task to begin */
  size_t running; /* threads */
  size_t *done;   /* tasks in the order of their ends, for the calling thread */
  size_t done_count;
  bool is_stopped;
  lampar_status status; /* of the first failure */
  char sentence[1024];
} shop;

static void fail(shop *s, lampar_status status) {
  pthread_mutex_lock(&s->mutex);
  if (s->status == LAMPAR_OK) {
    s->status = status;
    snprintf(s->sentence, sizeof s->sentence, "%s", lampar_last_error());
  }
  s->is_stopped = true;
  pthread_mutex_unlock(&s->mutex);
}

static bool take(shop *s, size_t *task) {
  pthread_mutex_lock(&s->mutex);
  const bool is_left = !s->is_stopped && s->next < s->work->count;
  if (is_left) *task = s->next++;
  pthread_mutex_unlock(&s->mutex);
  return is_left;
}

static void give(shop *s, size_t task) {
  pthread_mutex_lock(&s->mutex);
  s->done[s->done_count++] = task;
  pthread_cond_signal(&s->news);
  pthread_mutex_unlock(&s->mutex);
}

static void *serve(void *argument) {
  shop *const s = argument;
  const lampar_jit_work *const work = s->work;
  void *state = NULL;
  lampar_status status = work->begin != NULL ? work->begin(work->user, &state) : LAMPAR_OK;
  for (size_t task; status == LAMPAR_OK && take(s, &task);) {
    status = work->run(work->user, state, task);
    if (status == LAMPAR_OK) give(s, task);
  }
  if (status != LAMPAR_OK) fail(s, status);
  if (work->end != NULL && state != NULL) work->end(state);
  pthread_mutex_lock(&s->mutex);
  --s->running;
  pthread_cond_signal(&s->news);
  pthread_mutex_unlock(&s->mutex);
  return NULL;
}

/* The calling thread: tells what is done until no thread runs. The mutex is free while it tells. */
static void tell(shop *s) {
  size_t told = 0;
  pthread_mutex_lock(&s->mutex);
  while (s->running > 0 || told < s->done_count) {
    if (told == s->done_count) {
      pthread_cond_wait(&s->news, &s->mutex);
      continue;
    }
    const size_t task = s->done[told++];
    const bool is_wanted = s->work->finished != NULL && !s->is_stopped;
    pthread_mutex_unlock(&s->mutex);
    const bool goes_on = !is_wanted || s->work->finished(s->work->user, task);
    pthread_mutex_lock(&s->mutex);
    if (!goes_on) s->is_stopped = true;
  }
  pthread_mutex_unlock(&s->mutex);
}

lampar_status lampar_jit_work_run(const lampar_jit_work *work) {
  if (work->count == 0) return LAMPAR_OK;
  const size_t wanted = work->threads < work->count ? work->threads : work->count;
  shop s = {.work = work};
  pthread_t *const threads = calloc(wanted, sizeof *threads);
  s.done = calloc(work->count, sizeof *s.done);
  lampar_status status = LAMPAR_OK;
  size_t begun = 0;
  if (threads == NULL || s.done == NULL) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for %zu tasks", work->count);
    goto out;
  }
  pthread_mutex_init(&s.mutex, NULL);
  pthread_cond_init(&s.news, NULL);
  for (; begun < wanted; ++begun) {
    pthread_mutex_lock(&s.mutex);
    ++s.running;
    pthread_mutex_unlock(&s.mutex);
    if (pthread_create(&threads[begun], NULL, serve, &s) == 0) continue;
    pthread_mutex_lock(&s.mutex);
    --s.running;
    pthread_mutex_unlock(&s.mutex);
    break;
  }
  if (begun == 0) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no thread can be started");
  tell(&s);
  for (size_t i = 0; i < begun; ++i) pthread_join(threads[i], NULL);
  pthread_cond_destroy(&s.news);
  pthread_mutex_destroy(&s.mutex);
  if (s.status != LAMPAR_OK) status = lampar_fail(s.status, "%s", s.sentence);
out:
  free(threads);
  free(s.done);
  return status;
}
