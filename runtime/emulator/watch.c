/* Which lanes wait for which addresses: so that a store wakes just those. */
#include "machine.h"
#include "scheduler.h"

enum { BUCKETS = 4096 };

static watch *buckets[BUCKETS];

static watch **bucket_of(uintptr_t vector) {
  return &buckets[(vector * 0x9e3779b97f4a7c15u) >> 52];
}

bool lane_watches(const lane *lane, uintptr_t vector) {
  for (unsigned i = 0; i < lane->watched; ++i)
    if (lane->watches[i].vector == vector) return true;
  return false;
}

bool lane_watch(lane *lane, uintptr_t vector) {
  if (lane->watched == WATCHES_MAX) return false;
  watch *added = &lane->watches[lane->watched++];
  watch **bucket = bucket_of(vector);
  *added = (watch){.vector = vector, .lane = lane, .next = *bucket, .link = bucket};
  if (added->next) added->next->link = &added->next;
  *bucket = added;
  return true;
}

void lane_forget_watches(lane *lane) {
  for (unsigned i = 0; i < lane->watched; ++i) {
    watch *forgotten = &lane->watches[i];
    *forgotten->link = forgotten->next;
    if (forgotten->next) forgotten->next->link = forgotten->link;
  }
  lane->watched = 0;
  lane->has_news = false;
}

static void tell(lane *lane) {
  lane->has_news = true;
  if (lane->state == LANE_POLLS) lane_make_runnable(lane);
}

void memory_changed(uintptr_t word) {
  ++emu.changes;
  for (watch *watch = *bucket_of(word / 16); watch; watch = watch->next)
    if (watch->vector == word / 16) tell(watch->lane);
}

/* By address, not by bucket: the order must not depend on where memory happens to lie. */
void memory_changed_range(uintptr_t at, size_t bytes) {
  for (uintptr_t word = at & ~(uintptr_t)15; word < at + bytes; word += 16) memory_changed(word);
}
