/* A barrier for threads, with a bound. */
#ifndef LAMPAR_BARRIER_H
#define LAMPAR_BARRIER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct lampar_barrier {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int threads, arrived;
  uint64_t rounds; /* completed */
  bool is_broken;
} lampar_barrier;

void lampar_barrier_open(lampar_barrier *barrier, int threads);
void lampar_barrier_close(lampar_barrier *barrier);

/* Makes a broken barrier whole again. No thread may be waiting. */
void lampar_barrier_reset(lampar_barrier *barrier, int threads);

/* True once all threads have arrived. False if the barrier is broken; a thread that waits longer
 * than `timeout_ms` breaks it. */
bool lampar_barrier_wait(lampar_barrier *barrier, uint32_t timeout_ms);

/* Makes every wait return false, the current ones too. */
void lampar_barrier_break(lampar_barrier *barrier);

#endif
