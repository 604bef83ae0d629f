#include "emulator/exec/kernel_calls.h"

#include <math.h>
#include <string.h>

#include "emulator/exec/cluster.h"
#include "emulator/exec/devices.h"
#include "emulator/exec/errors.h"
#include "emulator/exec/grid.h"
#include "emulator/exec/memory.h"
#include "emulator/exec/running.h"
#include "emulator/exec/watch.h"

static void check(uintptr_t at, unsigned bytes, const char *what) {
  if (at % bytes != 0)
    lane_fail(CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at %#lx, which is not aligned to them", what,
              bytes, (unsigned long)at);
  if (!memory_is_reachable(running->warp->block->grid->work->task.device, at, bytes))
    lane_fail(CUDA_ERROR_ILLEGAL_ADDRESS,
              "%s %u bytes at %#lx, which is not memory that the device can reach", what, bytes,
              (unsigned long)at);
}

static void load(void *to, const void *from, unsigned bytes) {
  lane_may_switch();
  check((uintptr_t)from, bytes, "loads");
  buffer_load(&running->warp->stores, running->index, (uintptr_t)from, to, bytes);
}

static void store(void *to, const void *from, unsigned bytes) {
  lane_may_switch();
  check((uintptr_t)to, bytes, "stores");
  buffer_store(&running->warp->stores, running->index, (uintptr_t)to, from, bytes);
}

static void peek(void *to, const void *from, unsigned bytes) {
  char value[16];
  lane_may_switch();
  check((uintptr_t)from, bytes, "polls");
  const uintptr_t vector = (uintptr_t)from / 16;
  emu_lane *lane = running;
  /* Back at an address that had nothing new: a round is over. */
  if (lane_watches(lane, vector)) {
    const bool has_news = lane->has_news;
    if (!has_news && lane->spins == 0) lane_leave(LANE_POLLS);
    if (!has_news && lane->spins > 0) --lane->spins;
    lane_forget_watches(lane);
  }
  buffer_load(&lane->warp->stores, lane->index, (uintptr_t)from, value, bytes);
  if (memcmp(value, to, bytes) != 0) {
    memcpy(to, value, bytes);
    lane_forget_watches(lane);
    lane->spins = 0;
    return;
  }
  if (!lane_watch(lane, vector))
    lane_fail(CUDA_ERROR_LAUNCH_FAILED, "polls more than %d addresses in one round", WATCHES_MAX);
}

/* What must come first is performed: an atomic acts on memory. */
static unsigned exchange(unsigned *at, unsigned value) {
  lane_may_switch();
  check((uintptr_t)at, sizeof *at, "exchanges");
  buffer_perform(&running->warp->stores, 8, &emu.random, memory_changed);
  const unsigned before = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
  memory_changed((uintptr_t)at);
  return before;
}

static void publish(unsigned *to, unsigned value) {
  lane_may_switch();
  check((uintptr_t)to, sizeof *to, "publishes");
  buffer_perform(&running->warp->stores, 8, &emu.random, memory_changed);
  buffer_store(&running->warp->stores, running->index, (uintptr_t)to, &value, sizeof value);
}

/* True for the lane that comes last; the others go on after it. */
static bool meet(emu_warp *warp, emu_warp_meeting meeting) {
  if (warp->ended > 0)
    lane_fail(CUDA_ERROR_LAUNCH_FAILED, "waits for a lane of its warp that has ended");
  if (warp->met > 0 && warp->meeting != meeting)
    lane_fail(CUDA_ERROR_LAUNCH_FAILED, "is at a %s, where other lanes of its warp are not",
              meeting == MEETING_BARRIER ? "warp barrier" : "shuffle");
  warp->meeting = meeting;
  if (++warp->met < warp->lane_count) {
    lane_leave(LANE_AT_MEETING);
    return false;
  }
  warp->met = 0;
  for (unsigned i = 0; i < warp->lane_count; ++i)
    if (warp->lanes[i].state == LANE_AT_MEETING) lane_make_runnable(&warp->lanes[i]);
  return true;
}

static void sync_warp(void) {
  emu_warp *warp = running->warp;
  if (meet(warp, MEETING_BARRIER)) buffer_show(&warp->stores);
}

static unsigned long long shuffle_xor(unsigned long long value, unsigned mask) {
  emu_lane *self = running;
  emu_warp *warp = self->warp;
  self->offered = value;
  self->partner = self->index ^ mask;
  if (self->partner >= warp->lane_count) self->partner = self->index;
  if (meet(warp, MEETING_SHUFFLE))
    for (unsigned i = 0; i < warp->lane_count; ++i)
      warp->lanes[i].received = warp->lanes[warp->lanes[i].partner].offered;
  return self->received;
}

/* Only a kernel that was started early has somebody to wait for. */
static void wait_for_previous_grid(void) {
  lane_may_switch();
  const emu_work *previous = running->warp->block->grid->work->previous;
  if (previous != NULL && !previous->has_finished) lane_leave(LANE_AWAITS_GRID);
}

static void allow_next_grid(void) {
  lane_may_switch();
  block_allow_next(running->warp->block);
}

static unsigned long long clock_ns(void) {
  return emu.clock_ns;
}

void kernel_calls_install(kernel_interface *interface) {
  interface->load = load;
  interface->store = store;
  interface->peek = peek;
  interface->exchange = exchange;
  interface->publish = publish;
  interface->sync_warp = sync_warp;
  interface->wait_for_previous_grid = wait_for_previous_grid;
  interface->allow_next_grid = allow_next_grid;
  interface->clock_ns = clock_ns;
  interface->shuffle_xor = shuffle_xor;
  interface->fmaf = fmaf;
  interface->fma = fma;
  cluster_calls_install(interface);
}
