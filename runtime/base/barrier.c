#include "base/barrier.h"

#include <errno.h>
#include <time.h>

void lampar_barrier_open(lampar_barrier *barrier, int threads) {
  pthread_condattr_t attributes;
  *barrier = (lampar_barrier){.threads = threads};
  pthread_mutex_init(&barrier->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&barrier->changed, &attributes);
  pthread_condattr_destroy(&attributes);
}

void lampar_barrier_close(lampar_barrier *barrier) {
  pthread_cond_destroy(&barrier->changed);
  pthread_mutex_destroy(&barrier->mutex);
}

void lampar_barrier_reset(lampar_barrier *barrier, int threads) {
  pthread_mutex_lock(&barrier->mutex);
  barrier->threads = threads;
  barrier->arrived = 0;
  barrier->is_broken = false;
  pthread_mutex_unlock(&barrier->mutex);
}

static struct timespec deadline_after(uint32_t timeout_ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  return until;
}

bool lampar_barrier_wait(lampar_barrier *barrier, uint32_t timeout_ms) {
  const struct timespec until = deadline_after(timeout_ms);
  pthread_mutex_lock(&barrier->mutex);
  const uint64_t round = barrier->rounds;
  if (!barrier->is_broken && ++barrier->arrived == barrier->threads) {
    barrier->arrived = 0;
    ++barrier->rounds;
    pthread_cond_broadcast(&barrier->changed);
  }
  while (barrier->rounds == round && !barrier->is_broken)
    if (pthread_cond_timedwait(&barrier->changed, &barrier->mutex, &until) == ETIMEDOUT &&
        barrier->rounds == round) {
      barrier->is_broken = true;
      pthread_cond_broadcast(&barrier->changed);
    }
  const bool is_complete = barrier->rounds != round;
  pthread_mutex_unlock(&barrier->mutex);
  return is_complete;
}

void lampar_barrier_break(lampar_barrier *barrier) {
  pthread_mutex_lock(&barrier->mutex);
  barrier->is_broken = true;
  pthread_cond_broadcast(&barrier->changed);
  pthread_mutex_unlock(&barrier->mutex);
}
