#include <stdlib.h>

#include "cli/doctor/doctor.h"
#include "group/group_state.h"

enum { DEADLINE_MS = 30000 };

typedef struct attempt {
  uint32_t mask;
  lampar_pack *pack;
  lampar_local_exchange *local;
} attempt;

static lampar_status join(lampar_rank *rank, void *user) {
  const attempt *const a = user;
  const uint32_t bit = 1u << rank->rank;
  if (!(a->mask & bit)) return LAMPAR_OK;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.exchange = lampar_local_exchange_rank(a->local, __builtin_popcount(a->mask & (bit - 1)));
  lampar_group *group;
  LAMPAR_TRY(lampar_group_create(&group, NULL, &a->pack, 1, &config));
  const lampar_verdict verdict = group->verdict;
  const lampar_status closed = lampar_group_destroy(group);
  if (verdict.reason != LAMPAR_REASON_NONE)
    return lampar_fail(LAMPAR_ERROR_NO_KERNEL, "%s: %s", lampar_reason_string(verdict.reason),
                       verdict.message);
  return closed;
}

lampar_status lampar_doctor_try_group(lampar_machine *machine, uint32_t mask, lampar_pack *pack) {
  attempt a = {.mask = mask, .pack = pack};
  LAMPAR_TRY(lampar_local_exchange_create(__builtin_popcount(mask), DEADLINE_MS, &a.local));
  const lampar_status status = lampar_ranks_run(machine->ranks, join, &a);
  lampar_local_exchange_destroy(a.local);
  return status;
}
