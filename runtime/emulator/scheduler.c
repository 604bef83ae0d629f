#include "scheduler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "fiber.h"
#include "library.h"
#include "machine.h"
#include "memory.h"
#include "random.h"
#include "require.h"

lane *running;
kernel_interface emu_interface;

static void *scheduler_stack_pointer;

static lane **runnable;
static size_t runnable_count, runnable_capacity;
static warp **warps; /* on the devices */
static size_t warp_count, warp_capacity;
static grid *grids;
static work *ready, *collectives;

/* How this stretch of the run behaves. Drawn anew for each kernel: some mistakes show
 * only when stores are very late, others when one device, or some of the warps, are slow. */
static struct {
  uint32_t switches; /* one in so many accesses */
  /* Every so many steps; 0: only when nothing else moves. */
  uint32_t performs;   /* a buffer is looked at */
  uint32_t starts;     /* a ready work or block starts */
  int slow_device;     /* -1: none */
  unsigned slow_warps; /* index within the block, modulo SLOW_EVERY; more: none */
} pace;

enum { SLOW_EVERY = 4 };

static uint32_t below(uint32_t count) {
  return random_below(&emu.random, count);
}

static void draw_pace(void) {
  static const uint32_t switches[] = {2, 8, 32, 128}, performs[] = {1, 4, 32, 0},
                        starts[] = {2, 16, 128, 0};
  pace.switches = switches[below(4)];
  pace.performs = performs[below(4)];
  pace.starts = starts[below(4)];
  pace.slow_device = below(2) ? (int)below((uint32_t)emu.device_count) : -1;
  pace.slow_warps = below(2 * SLOW_EVERY);
}

/* ---- lanes ------------------------------------------------------------------------------- */

void lane_make_runnable(lane *lane) {
  if (runnable_count == runnable_capacity) {
    runnable_capacity = runnable_capacity ? 2 * runnable_capacity : 256;
    runnable = require(realloc(runnable, runnable_capacity * sizeof(struct lane *)));
  }
  lane->state = LANE_RUNNABLE;
  lane->slot = runnable_count;
  runnable[runnable_count++] = lane;
}

static void put_aside(lane *lane, lane_state state) {
  if (lane->state == LANE_RUNNABLE) {
    runnable[lane->slot] = runnable[--runnable_count];
    runnable[lane->slot]->slot = lane->slot;
  }
  lane->state = state;
}

void lane_leave(lane_state state) {
  lane *leaving = running;
  put_aside(leaving, state);
  fiber_switch(&leaving->stack_pointer, scheduler_stack_pointer);
}

void lane_may_switch(void) {
  if (below(pace.switches) == 0) fiber_switch(&running->stack_pointer, scheduler_stack_pointer);
}

static void lane_main(void) {
  const task *task = &running->warp->block->grid->work->task;
  function_call(task->kernel.function, task->kernel.parameters);
  cluster_check_end();
  lane_leave(LANE_ENDED);
}

static void run_lane(lane *lane) {
  const warp *warp = lane->warp;
  const grid *grid = warp->block->grid;
  running = lane;
  emu_interface.thread = (kernel_index){warp->index * WARP_LANES + lane->index, 0, 0};
  emu_interface.block = (kernel_index){warp->block->index, 0, 0};
  emu_interface.block_size = (kernel_index){grid->work->task.kernel.threads, 1, 1};
  emu_interface.grid_size = (kernel_index){grid->work->task.kernel.blocks, 1, 1};
  emu_interface.shared = warp->block->shared;
  fiber_switch(&scheduler_stack_pointer, lane->stack_pointer);
  running = NULL;
}

/* ---- grids ------------------------------------------------------------------------------- */

const grid *scheduler_grids(void) {
  return grids;
}

work *scheduler_collectives(void) {
  return collectives;
}

static void grid_start(work *started) {
  const unsigned per_multiprocessor = LANES_PER_MULTIPROCESSOR / started->task.kernel.threads;
  grid *created = require(calloc(1, sizeof *created));
  created->work = work_keep(started);
  created->resident_max = MULTIPROCESSORS * (per_multiprocessor ? per_multiprocessor : 1);
  if (created->resident_max < started->task.kernel.cluster)
    created->resident_max = started->task.kernel.cluster;
  created->next = grids;
  grids = created;
  started->grid = created;
  draw_pace();
}

/* Blocks start in ascending order, as on every GPU so far; PTX promises none. There is room for all
 * of a cluster before its first starts; the others may come much later. */
static bool block_can_start(const grid *grid) {
  const unsigned cluster = grid->work->task.kernel.cluster;
  return grid->started < grid->work->task.kernel.blocks &&
         (grid->started % cluster > 0 || grid->resident + cluster <= grid->resident_max);
}

static void block_start(grid *grid) {
  const unsigned threads = grid->work->task.kernel.threads;
  const unsigned count = (threads + WARP_LANES - 1) / WARP_LANES;
  block *started = require(calloc(1, sizeof *started + count * sizeof(warp)));
  started->grid = grid;
  if (grid->started % grid->work->task.kernel.cluster == 0)
    grid->resident += grid->work->task.kernel.cluster;
  started->index = grid->started++;
  started->warp_count = count;
  started->next = grid->blocks;
  grid->blocks = started;
  cluster_enter(started);
  for (unsigned w = 0; w < count; ++w) {
    warp *warp = &started->warps[w];
    warp->block = started;
    warp->index = w;
    warp->lane_count =
        threads - w * WARP_LANES < WARP_LANES ? threads - w * WARP_LANES : WARP_LANES;
    if (warp_count == warp_capacity) {
      warp_capacity = warp_capacity ? 2 * warp_capacity : 64;
      warps = require(realloc(warps, warp_capacity * sizeof(struct warp *)));
    }
    warp->slot = warp_count;
    warps[warp_count++] = warp;
    for (unsigned i = 0; i < warp->lane_count; ++i) {
      lane *lane = &warp->lanes[i];
      lane->warp = warp;
      lane->index = i;
      lane->stack = fiber_stack_take();
      lane->stack_pointer = fiber_prepare(lane->stack, lane_main);
      lane_make_runnable(lane);
    }
  }
}

static void block_release(block *block) {
  for (unsigned w = 0; w < block->warp_count; ++w) {
    warp *warp = &block->warps[w];
    warps[warp->slot] = warps[--warp_count];
    warps[warp->slot]->slot = warp->slot;
    for (unsigned i = 0; i < warp->lane_count; ++i) {
      if (warp->lanes[i].state == LANE_ENDED) continue;
      lane_forget_watches(&warp->lanes[i]);
      put_aside(&warp->lanes[i], LANE_ENDED);
      fiber_stack_give_back(warp->lanes[i].stack);
    }
    buffer_release(&warp->stores);
  }
  cluster_leave(block);
  struct block **link = &block->grid->blocks;
  while (*link != block) link = &(*link)->next;
  *link = block->next;
  free(block);
}

static void grid_release(grid *grid) {
  while (grid->blocks) block_release(grid->blocks);
  buffer_release(&grid->leftover);
  struct grid **link = &grids;
  while (*link != grid) link = &(*link)->next;
  *link = grid->next;
  grid->work->grid = NULL;
  work *ended = grid->work;
  free(grid);
  work_finish(ended);
  ++emu.changes;
  work_release(ended);
}

void grid_previous_finished(grid *grid) {
  for (block *block = grid->blocks; block; block = block->next)
    for (unsigned w = 0; w < block->warp_count; ++w)
      for (unsigned i = 0; i < block->warps[w].lane_count; ++i)
        if (block->warps[w].lanes[i].state == LANE_AWAITS_GRID)
          lane_make_runnable(&block->warps[w].lanes[i]);
}

void block_allow_next(block *block) {
  if (block->has_allowed) return;
  block->has_allowed = true;
  if (++block->grid->allowed == block->grid->work->task.kernel.blocks)
    work_trigger(block->grid->work);
}

/* The block's place is free; its stores may still be on the way. */
static void block_end(block *block) {
  grid *grid = block->grid;
  block_allow_next(block);
  for (unsigned w = 0; w < block->warp_count; ++w) {
    if (below(2)) buffer_perform(&block->warps[w].stores, 8, &emu.random);
    buffer_hand_over(&grid->leftover, &block->warps[w].stores);
  }
  block_release(block);
  --grid->resident;
  if (++grid->ended < grid->work->task.kernel.blocks) return;
  buffer_perform(&grid->leftover, 8, &emu.random);
  grid_release(grid);
}

static void lane_end(lane *ended) {
  warp *warp = ended->warp;
  lane_forget_watches(ended);
  fiber_stack_give_back(ended->stack);
  if (++warp->ended == warp->lane_count && ++warp->block->ended == warp->block->warp_count)
    block_end(warp->block);
}

/* ---- devices that failed ----------------------------------------------------------------- */

static void device_fail(int device, int error) {
  if (!emu.devices[device].error) emu.devices[device].error = error;
  for (bool again = true; again;) {
    again = false;
    for (grid *grid = grids; grid && !again; grid = grid->next)
      if (grid->work->task.device == device) {
        grid_release(grid);
        again = true;
      }
  }
  for (work **link = &collectives; *link;) {
    work *failed = *link;
    if (failed->task.device != device) {
      link = &failed->next;
      continue;
    }
    *link = failed->next;
    work_finish(failed);
    ++emu.changes;
  }
}

static int failing_device = -1, failing_error;

void lane_fail(int error, const char *format, ...) {
  const block *block = running->warp->block;
  const struct CUfunc_st *function = block->grid->work->task.kernel.function;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr,
          "lampar-emu: device %d, %s, block %u, warp %u, lane %u: ", block->grid->work->task.device,
          function_name(function), block->index, running->warp->index, running->index);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  report_seed();
  failing_device = block->grid->work->task.device;
  failing_error = error;
  fiber_switch(&running->stack_pointer, scheduler_stack_pointer);
  abort(); /* nobody runs a lane of a device that failed */
}

/* ---- works ------------------------------------------------------------------------------- */

/* Sorted, so that the choice among them depends on the seed only. */
void work_is_ready(work *now_ready) {
  work **link = &ready;
  while (*link && work_compare(*link, now_ready) < 0) link = &(*link)->next;
  now_ready->next = *link;
  *link = now_ready;
}

static void take_arrived(void) {
  work *sorted = NULL;
  while (emu.arrived) {
    work *taken = emu.arrived;
    emu.arrived = taken->next;
    work **link = &sorted;
    while (*link && work_compare(*link, taken) < 0) link = &(*link)->next;
    taken->next = *link;
    *link = taken;
  }
  while (sorted) {
    work *taken = sorted;
    sorted = taken->next;
    if (--taken->blocked == 0) work_is_ready(taken);
  }
}

static void copy_run(const task *task) {
  for (size_t y = 0; y < task->copy.height; ++y)
    memcpy((char *)task->copy.to + y * task->copy.to_pitch,
           (const char *)task->copy.from + y * task->copy.from_pitch, task->copy.width);
  memory_changed_range(task->copy.to,
                       (task->copy.height - 1) * task->copy.to_pitch + task->copy.width);
}

static void fill_run(const task *task) {
  for (size_t i = 0; i < task->fill.words; ++i) ((uint32_t *)task->fill.at)[i] = task->fill.value;
  memory_changed_range(task->fill.at, task->fill.words * 4);
}

static void work_start(work *started) {
  const task *task = &started->task;
  if (!emu.devices[task->device].error) {
    switch (task->kind) {
    case WORK_NOTHING: break;
    case WORK_FREE: memory_give_back(task->freed, MEMORY_DEVICE); break;
    case WORK_FILL: fill_run(task); break;
    case WORK_COPY: copy_run(task); break;
    case WORK_KERNEL: grid_start(started); return;
    case WORK_COLLECTIVE: {
      work **link = &collectives;
      while (*link && work_compare(*link, started) < 0) link = &(*link)->next;
      started->next = *link;
      *link = started;
      return;
    }
    }
  }
  work_finish(started);
  ++emu.changes;
}

static bool start_some_work(void) {
  uint32_t count = 0;
  for (work *work = ready; work; work = work->next) ++count;
  if (count == 0) return false;
  work **link = &ready;
  for (uint32_t skip = below(count); skip > 0; --skip) link = &(*link)->next;
  work *chosen = *link;
  *link = chosen->next;
  work_start(chosen);
  return true;
}

static bool start_some_block(void) {
  uint32_t count = 0;
  for (grid *grid = grids; grid; grid = grid->next) count += block_can_start(grid);
  if (count == 0) return false;
  uint32_t skip = below(count);
  for (grid *grid = grids; grid; grid = grid->next)
    if (block_can_start(grid) && skip-- == 0) {
      block_start(grid);
      return true;
    }
  return false;
}

static bool step_some_collective(void) {
  for (work **link = &collectives; *link; link = &(*link)->next) {
    work *stepped = *link;
    const collective_progress progress = collective_step(stepped);
    if (progress == COLLECTIVE_WAITS) continue;
    ++emu.changes;
    if (progress == COLLECTIVE_ENDED) {
      *link = stepped->next;
      work_finish(stepped);
    }
    return true;
  }
  return false;
}

/* ---- the choice -------------------------------------------------------------------------- */

static void perform_some_stores(void) {
  if (below(4) == 0) cluster_deliver();
  if (warp_count > 0)
    buffer_perform(&warps[below((uint32_t)warp_count)]->stores, 1 + below(8), &emu.random);
}

/* False: all stores are performed. Then no chance was drawn either. */
static bool must_perform_some_stores(void) {
  uint32_t waiting = 0;
  for (size_t i = 0; i < warp_count; ++i) waiting += warps[i]->stores.count > 0;
  uint32_t skip = waiting > 0 ? below(waiting) : 0;
  for (size_t i = 0; i < warp_count; ++i) {
    store_buffer *stores = &warps[i]->stores;
    if (stores->count == 0 || skip-- > 0) continue;
    while (!buffer_perform(stores, 1 + below(8), &emu.random)) {
    }
    return true;
  }
  for (grid *grid = grids; grid; grid = grid->next)
    if (grid->leftover.count > 0) return buffer_perform(&grid->leftover, 8, &emu.random);
  return false;
}

static bool is_slow(const lane *lane) {
  return lane->warp->block->grid->work->task.device == pace.slow_device ||
         lane->warp->index % SLOW_EVERY == pace.slow_warps;
}

static void run_some_lane(void) {
  lane *chosen = runnable[below((uint32_t)runnable_count)];
  for (int i = 0; i < 4 && is_slow(chosen); ++i) chosen = runnable[below((uint32_t)runnable_count)];
  run_lane(chosen);
  if (failing_device >= 0) {
    device_fail(failing_device, failing_error);
    failing_device = -1;
  } else if (chosen->state == LANE_ENDED) {
    lane_end(chosen);
  }
}

static bool step(void) {
  ++emu.steps;
  if (runnable_count == 0)
    return start_some_work() || start_some_block() || cluster_deliver() ||
           must_perform_some_stores() || step_some_collective();
  if (pace.starts > 0 && below(pace.starts) == 0 && start_some_work()) return true;
  if (pace.starts > 0 && below(pace.starts) == 0 && start_some_block()) return true;
  if (pace.performs > 0 && below(pace.performs) == 0) perform_some_stores();
  run_some_lane();
  return true;
}

/* Draws nothing when there is nothing to do: how often it is called in vain depends on the host. */
bool scheduler_run(void) {
  const uint64_t changes = emu.changes, steps = emu.steps;
  if (emu.arrived) draw_pace();
  take_arrived();
  while (step()) {
  }
  if (emu.steps == steps + 1) emu.steps = steps; /* nothing could be done */
  return emu.changes != changes;
}

/* ---- when nothing moves ------------------------------------------------------------------ */

static size_t wake_polling(unsigned patience) {
  size_t woken = 0;
  for (size_t w = 0; w < warp_count; ++w)
    for (unsigned i = 0; i < warps[w]->lane_count; ++i) {
      lane *lane = &warps[w]->lanes[i];
      if (lane->state != LANE_POLLS) continue;
      lane->patience = patience;
      lane_make_runnable(lane);
      ++woken;
    }
  return woken;
}

void scheduler_look_again(void) {
  wake_polling(0);
}

/* A kernel looks at its clock every 256 rounds, and needs two looks: at the start of its wait, and
 * after its bound. The leap is longer than any bound. */
void scheduler_break_deadlock(void) {
  enum { ROUNDS = 300, LEAPS = 3 };
  static const uint64_t leap_ns = 1ull << 53;
  static uint64_t changes_before;
  static int leaps;
  if (emu.changes != changes_before) leaps = 0;
  const bool is_final = leaps == LEAPS;
  if (leaps == 0 || is_final) report_deadlock(is_final);
  if (!is_final) {
    ++leaps;
    changes_before = emu.changes;
    emu.clock_ns += leap_ns;
    if (wake_polling(ROUNDS) > 0) return;
    report_deadlock(true);
  }
  leaps = 0;
  uint32_t failed = 0;
  for (const grid *grid = grids; grid; grid = grid->next) failed |= 1u << grid->work->task.device;
  for (const work *work = collectives; work; work = work->next) failed |= 1u << work->task.device;
  for (int device = 0; device < DEVICES_MAX; ++device)
    if (failed >> device & 1) device_fail(device, CUDA_ERROR_LAUNCH_TIMEOUT);
}
