#include "emulator/exec/scheduler.h"

#include <string.h>

#include "emulator/exec/cluster.h"
#include "emulator/exec/collective.h"
#include "emulator/exec/devices.h"
#include "emulator/exec/grid.h"
#include "emulator/exec/memory.h"
#include "emulator/exec/pace.h"
#include "emulator/exec/running.h"
#include "emulator/exec/watch.h"

static emu_work *collectives;

emu_work *scheduler_collectives(void) {
  return collectives;
}

void scheduler_fail_device(int device, int error) {
  if (!emu.devices[device].error) emu.devices[device].error = error;
  for (bool again = true; again;) {
    again = false;
    for (emu_grid *grid = grids_first(); grid != NULL && !again; grid = grid->next)
      if (grid->work->task.device == device) {
        grid_release(grid);
        again = true;
      }
  }
  for (emu_work **link = &collectives; *link != NULL;) {
    emu_work *failed = *link;
    if (failed->task.device != device) {
      link = &failed->next;
      continue;
    }
    *link = failed->next;
    grids_finish_work(failed);
  }
}

/* ---- works ------------------------------------------------------------------------------- */

static void copy_run(const emu_task *task) {
  for (size_t y = 0; y < task->copy.height; ++y)
    memcpy((char *)task->copy.to + y * task->copy.to_pitch,
           (const char *)task->copy.from + y * task->copy.from_pitch, task->copy.width);
  memory_changed_range(task->copy.to,
                       (task->copy.height - 1) * task->copy.to_pitch + task->copy.width);
}

static void fill_run(const emu_task *task) {
  for (size_t i = 0; i < task->fill.words; ++i) ((uint32_t *)task->fill.at)[i] = task->fill.value;
  memory_changed_range(task->fill.at, task->fill.words * 4);
}

static void work_start(emu_work *started) {
  const emu_task *task = &started->task;
  if (!emu.devices[task->device].error) {
    switch (task->kind) {
    case WORK_NOTHING: break;
    case WORK_FREE: memory_release(task->freed, MEMORY_DEVICE); break;
    case WORK_FILL: fill_run(task); break;
    case WORK_COPY: copy_run(task); break;
    case WORK_KERNEL: grid_start(started); return;
    case WORK_COLLECTIVE: {
      emu_work **link = &collectives;
      while (*link != NULL && work_compare(*link, started) < 0) link = &(*link)->next;
      started->next = *link;
      *link = started;
      return;
    }
    }
  }
  grids_finish_work(started);
}

static bool start_some_work(void) {
  const uint32_t count = works_ready();
  if (count == 0) return false;
  work_start(work_take_ready(emu_below(count)));
  return true;
}

static bool start_some_block(void) {
  uint32_t count = 0;
  for (emu_grid *grid = grids_first(); grid != NULL; grid = grid->next)
    count += block_can_start(grid);
  if (count == 0) return false;
  uint32_t skip = emu_below(count);
  for (emu_grid *grid = grids_first(); grid != NULL; grid = grid->next)
    if (block_can_start(grid) && skip-- == 0) {
      block_start(grid);
      return true;
    }
  return false;
}

static bool step_some_collective(void) {
  for (emu_work **link = &collectives; *link != NULL; link = &(*link)->next) {
    emu_work *stepped = *link;
    const emu_collective_progress progress = collective_step(stepped);
    if (progress == COLLECTIVE_WAITS) continue;
    if (progress == COLLECTIVE_ENDED) {
      *link = stepped->next;
      grids_finish_work(stepped);
    } else {
      ++emu.changes;
    }
    return true;
  }
  return false;
}

/* ---- the choice -------------------------------------------------------------------------- */

static bool perform(emu_store_buffer *stores, unsigned eighths) {
  return buffer_perform(stores, eighths, &emu.random, memory_changed);
}

static void perform_some_stores(void) {
  if (emu_below(4) == 0) cluster_deliver();
  size_t count;
  emu_warp *const *warps = warps_resident(&count);
  if (count > 0) perform(&warps[emu_below((uint32_t)count)]->stores, 1 + emu_below(8));
}

/* False: all stores are performed. Then no chance was drawn either. */
static bool must_perform_some_stores(void) {
  uint32_t waiting = 0;
  size_t count;
  emu_warp *const *warps = warps_resident(&count);
  for (size_t i = 0; i < count; ++i) waiting += warps[i]->stores.count > 0;
  uint32_t skip = waiting > 0 ? emu_below(waiting) : 0;
  for (size_t i = 0; i < count; ++i) {
    emu_store_buffer *stores = &warps[i]->stores;
    if (stores->count == 0 || skip-- > 0) continue;
    while (!perform(stores, 1 + emu_below(8))) {
    }
    return true;
  }
  for (emu_grid *grid = grids_first(); grid != NULL; grid = grid->next)
    if (grid->leftover.count > 0) return perform(&grid->leftover, 8);
  return false;
}

static bool is_slow(const emu_lane *lane) {
  return lane->warp->block->grid->work->task.device == pace.slow_device ||
         lane->warp->index % SLOW_EVERY == pace.slow_warps;
}

static emu_lane *some_lane(void) {
  return lane_runnable(emu_below((uint32_t)lanes_runnable()));
}

static void run_some_lane(void) {
  emu_lane *chosen = some_lane();
  for (int i = 0; i < 4 && is_slow(chosen); ++i) chosen = some_lane();
  lane_run(chosen);
  int device, error;
  if (lane_has_failed(&device, &error)) {
    scheduler_fail_device(device, error);
  } else if (chosen->state == LANE_ENDED) {
    lane_end(chosen);
  }
}

static bool step(void) {
  ++emu.steps;
  if (lanes_runnable() == 0)
    return start_some_work() || start_some_block() || cluster_deliver() ||
           must_perform_some_stores() || step_some_collective();
  if (pace.starts > 0 && emu_below(pace.starts) == 0 && start_some_work()) return true;
  if (pace.starts > 0 && emu_below(pace.starts) == 0 && start_some_block()) return true;
  if (pace.performs > 0 && emu_below(pace.performs) == 0) perform_some_stores();
  run_some_lane();
  return true;
}

/* Draws nothing when there is nothing to do: how often it finds nothing depends on the host. */
bool scheduler_run(void) {
  const uint64_t changes = emu.changes, steps = emu.steps;
  if (works_have_arrived()) pace_draw();
  works_admit();
  while (step()) {
  }
  if (emu.steps == steps + 1) emu.steps = steps; /* nothing could be done */
  return emu.changes != changes;
}

size_t scheduler_wake_polling(unsigned spins) {
  size_t woken = 0, count;
  emu_warp *const *warps = warps_resident(&count);
  for (size_t w = 0; w < count; ++w)
    for (unsigned i = 0; i < warps[w]->lane_count; ++i) {
      emu_lane *lane = &warps[w]->lanes[i];
      if (lane->state != LANE_POLLS) continue;
      lane->spins = spins;
      lane_make_runnable(lane);
      ++woken;
    }
  return woken;
}
