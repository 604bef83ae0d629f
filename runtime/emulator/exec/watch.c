#include "emulator/exec/watch.h"

#include "emulator/exec/devices.h"
#include "emulator/exec/running.h"

enum { BUCKETS = 4096 };

static emu_watch *buckets[BUCKETS];

static emu_watch **bucket_of(uintptr_t vector) {
  return &buckets[(vector * 0x9e3779b97f4a7c15u) >> 52];
}

bool lane_watches(const emu_lane *lane, uintptr_t vector) {
  for (unsigned i = 0; i < lane->watched; ++i)
    if (lane->watches[i].vector == vector) return true;
  return false;
}

bool lane_watch(emu_lane *lane, uintptr_t vector) {
  if (lane->watched == WATCHES_MAX) return false;
  emu_watch *added = &lane->watches[lane->watched++];
  emu_watch **bucket = bucket_of(vector);
  *added = (emu_watch){.vector = vector, .lane = lane, .next = *bucket, .link = bucket};
  if (added->next != NULL) added->next->link = &added->next;
  *bucket = added;
  return true;
}

void lane_forget_watches(emu_lane *lane) {
  for (unsigned i = 0; i < lane->watched; ++i) {
    emu_watch *forgotten = &lane->watches[i];
    *forgotten->link = forgotten->next;
    if (forgotten->next != NULL) forgotten->next->link = forgotten->link;
  }
  lane->watched = 0;
  lane->has_news = false;
}

static void notify(emu_lane *lane) {
  lane->has_news = true;
  if (lane->state == LANE_POLLS) lane_make_runnable(lane);
}

void memory_changed(uintptr_t word) {
  ++emu.changes;
  for (emu_watch *watch = *bucket_of(word / 16); watch != NULL; watch = watch->next)
    if (watch->vector == word / 16) notify(watch->lane);
}

/* By address, not by bucket: the order must not depend on where memory happens to lie. */
void memory_changed_range(uintptr_t at, size_t bytes) {
  for (uintptr_t word = at & ~(uintptr_t)15; word < at + bytes; word += 16) memory_changed(word);
}
