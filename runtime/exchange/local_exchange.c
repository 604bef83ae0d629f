/* The exchange between threads of one process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/barrier.h"
#include "base/error.h"
#include "pack/variant.h"

typedef struct local_rank {
  lampar_local_exchange *local;
  lampar_exchange exchange;
} local_rank;

struct lampar_local_exchange {
  lampar_barrier barrier;
  int world;
  uint32_t timeout_ms;
  const void *messages[LAMPAR_WORLD_MAX];
  local_rank ranks[LAMPAR_WORLD_MAX];
};

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  const local_rank *rank = user;
  lampar_local_exchange *local = rank->local;
  local->messages[rank->exchange.rank] = mine;
  if (!lampar_barrier_wait(&local->barrier, local->timeout_ms)) return ETIMEDOUT;
  for (int i = 0; i < local->world; ++i)
    memcpy((char *)all + (size_t)i * bytes, local->messages[i], bytes);
  /* No rank leaves while another still reads its message. */
  return lampar_barrier_wait(&local->barrier, local->timeout_ms) ? 0 : ETIMEDOUT;
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
  lampar_barrier_open(&local->barrier, world);
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
  lampar_barrier_close(&local->barrier);
  free(local);
}
