/* The exchange between threads of one process. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "pack/variant.h"

typedef struct local_rank {
  lampar_local_exchange *local;
  lampar_exchange exchange;
} local_rank;

struct lampar_local_exchange {
  pthread_mutex_t mutex;
  pthread_cond_t turned;
  int world;
  uint32_t timeout_ms;
  int arrived;
  uint64_t turn; /* one for each completed meeting */
  bool broken;   /* somebody did not arrive: nobody can go on */
  const void *messages[LAMPAR_WORLD_MAX];
  local_rank ranks[LAMPAR_WORLD_MAX];
};

/* Returns once all ranks are here; false when one was late. Called with the mutex held. */
static bool barrier(lampar_local_exchange *local) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += local->timeout_ms / 1000;
  until.tv_nsec += (long)(local->timeout_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  const uint64_t turn = local->turn;
  if (++local->arrived == local->world) {
    local->arrived = 0;
    ++local->turn;
    pthread_cond_broadcast(&local->turned);
  }
  while (local->turn == turn && !local->broken)
    if (pthread_cond_timedwait(&local->turned, &local->mutex, &until) == ETIMEDOUT &&
        local->turn == turn) {
      local->broken = true;
      pthread_cond_broadcast(&local->turned);
    }
  return local->turn != turn;
}

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  const local_rank *rank = user;
  lampar_local_exchange *local = rank->local;
  pthread_mutex_lock(&local->mutex);
  local->messages[rank->exchange.rank] = mine;
  bool complete = !local->broken && barrier(local);
  if (complete) {
    for (int i = 0; i < local->world; ++i)
      memcpy((char *)all + (size_t)i * bytes, local->messages[i], bytes);
    complete = barrier(local); /* nobody leaves while others still read his message */
  }
  pthread_mutex_unlock(&local->mutex);
  return complete ? 0 : ETIMEDOUT;
}

lampar_status lampar_local_exchange_create(int world, uint32_t timeout_ms,
                                           lampar_local_exchange **result) {
  if (world < 1 || world > LAMPAR_WORLD_MAX || timeout_ms == 0 || result == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_local_exchange_create: world %d (1 to %d), timeout %u ms (not 0)",
                       world, LAMPAR_WORLD_MAX, timeout_ms);
  lampar_local_exchange *local = calloc(1, sizeof *local);
  if (local == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  local->world = world;
  local->timeout_ms = timeout_ms;
  pthread_mutex_init(&local->mutex, NULL);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&local->turned, &attributes);
  pthread_condattr_destroy(&attributes);
  for (int i = 0; i < world; ++i) {
    local_rank *rank = &local->ranks[i];
    rank->local = local;
    rank->exchange = (lampar_exchange){.size = sizeof(lampar_exchange),
                                       .rank = i,
                                       .world = world,
                                       .all_gather = all_gather,
                                       .user = rank};
  }
  *result = local;
  return LAMPAR_OK;
}

const lampar_exchange *lampar_local_exchange_rank(lampar_local_exchange *local, int rank) {
  const bool is_known = local != NULL && rank >= 0 && rank < local->world;
  return is_known ? &local->ranks[rank].exchange : NULL;
}

void lampar_local_exchange_destroy(lampar_local_exchange *local) {
  if (local == NULL) return;
  pthread_cond_destroy(&local->turned);
  pthread_mutex_destroy(&local->mutex);
  free(local);
}
