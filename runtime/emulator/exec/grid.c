#include "emulator/exec/grid.h"

#include <stdlib.h>

#include "emulator/exec/cluster.h"
#include "emulator/exec/devices.h"
#include "emulator/exec/fiber.h"
#include "emulator/exec/module.h"
#include "emulator/exec/pace.h"
#include "emulator/exec/require.h"
#include "emulator/exec/running.h"
#include "emulator/exec/watch.h"

static emu_warp **warps; /* on the devices */
static size_t warp_count, warp_capacity;
static emu_grid *grids;

emu_grid *grids_first(void) {
  return grids;
}

emu_warp *const *warps_resident(size_t *count) {
  *count = warp_count;
  return warps;
}

static void lane_main(void) {
  const emu_task *task = &running->warp->block->grid->work->task;
  function_call(task->kernel.function, task->kernel.parameters);
  cluster_check_end();
  lane_put_aside(running, LANE_ENDED);
}

void grid_start(emu_work *started) {
  const unsigned per_multiprocessor = LANES_PER_MULTIPROCESSOR / started->task.kernel.threads;
  emu_grid *created = require(calloc(1, sizeof *created));
  created->work = work_retain(started);
  created->resident_max = MULTIPROCESSORS * (per_multiprocessor ? per_multiprocessor : 1);
  if (created->resident_max < started->task.kernel.cluster)
    created->resident_max = started->task.kernel.cluster;
  created->next = grids;
  grids = created;
  started->grid = created;
  pace_draw();
}

/* Blocks start in ascending order, as on every GPU so far; PTX promises none. There is room for all
 * of a cluster before its first starts; the others may come much later. */
bool block_can_start(const emu_grid *grid) {
  const unsigned cluster = grid->work->task.kernel.cluster;
  return grid->started < grid->work->task.kernel.blocks &&
         (grid->started % cluster > 0 || grid->resident + cluster <= grid->resident_max);
}

void block_start(emu_grid *grid) {
  const unsigned threads = grid->work->task.kernel.threads;
  const unsigned count = (threads + WARP_LANES - 1) / WARP_LANES;
  emu_block *started = require(calloc(1, sizeof *started + count * sizeof(emu_warp)));
  started->grid = grid;
  if (grid->started % grid->work->task.kernel.cluster == 0)
    grid->resident += grid->work->task.kernel.cluster;
  started->index = grid->started++;
  started->warp_count = count;
  started->next = grid->blocks;
  grid->blocks = started;
  cluster_enter(started);
  for (unsigned w = 0; w < count; ++w) {
    emu_warp *warp = &started->warps[w];
    warp->block = started;
    warp->index = w;
    warp->lane_count =
        threads - w * WARP_LANES < WARP_LANES ? threads - w * WARP_LANES : WARP_LANES;
    if (warp_count == warp_capacity) {
      warp_capacity = warp_capacity ? 2 * warp_capacity : 64;
      warps = require(realloc(warps, warp_capacity * sizeof *warps));
    }
    warp->slot = warp_count;
    warps[warp_count++] = warp;
    for (unsigned i = 0; i < warp->lane_count; ++i) {
      emu_lane *lane = &warp->lanes[i];
      lane->warp = warp;
      lane->index = i;
      lane->fiber = fiber_open(lane_main);
      lane_make_runnable(lane);
    }
  }
}

static void block_release(emu_block *block) {
  for (unsigned w = 0; w < block->warp_count; ++w) {
    emu_warp *warp = &block->warps[w];
    warps[warp->slot] = warps[--warp_count];
    warps[warp->slot]->slot = warp->slot;
    for (unsigned i = 0; i < warp->lane_count; ++i) {
      if (warp->lanes[i].state == LANE_ENDED) continue;
      lane_forget_watches(&warp->lanes[i]);
      lane_put_aside(&warp->lanes[i], LANE_ENDED);
      fiber_close(warp->lanes[i].fiber);
    }
    buffer_release(&warp->stores);
  }
  cluster_leave(block);
  emu_block **link = &block->grid->blocks;
  while (*link != block) link = &(*link)->next;
  *link = block->next;
  free(block);
}

static void previous_finished(emu_grid *grid) {
  for (emu_block *block = grid->blocks; block != NULL; block = block->next)
    for (unsigned w = 0; w < block->warp_count; ++w)
      for (unsigned i = 0; i < block->warps[w].lane_count; ++i)
        if (block->warps[w].lanes[i].state == LANE_AWAITS_GRID)
          lane_make_runnable(&block->warps[w].lanes[i]);
}

void grids_finish_work(emu_work *finished) {
  for (size_t i = 0; i < finished->edge_count; ++i) {
    const emu_edge *edge = &finished->edges[i];
    if (edge->is_programmatic && edge->to->grid != NULL) previous_finished(edge->to->grid);
  }
  work_finish(finished);
  ++emu.changes;
}

void grid_release(emu_grid *grid) {
  /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): block_release unlinks the block */
  while (grid->blocks != NULL) block_release(grid->blocks);
  buffer_release(&grid->leftover);
  emu_grid **link = &grids;
  while (*link != grid) link = &(*link)->next;
  *link = grid->next;
  grid->work->grid = NULL;
  emu_work *ended = grid->work;
  free(grid);
  grids_finish_work(ended);
  work_release(ended);
}

void block_allow_next(emu_block *block) {
  if (block->has_allowed) return;
  block->has_allowed = true;
  if (++block->grid->allowed == block->grid->work->task.kernel.blocks)
    work_trigger(block->grid->work);
}

/* The block's place is free; its stores may still be on the way. */
static void block_end(emu_block *block) {
  emu_grid *grid = block->grid;
  block_allow_next(block);
  for (unsigned w = 0; w < block->warp_count; ++w) {
    if (emu_below(2)) buffer_perform(&block->warps[w].stores, 8, &emu.random, memory_changed);
    buffer_hand_over(&grid->leftover, &block->warps[w].stores);
  }
  block_release(block);
  --grid->resident;
  if (++grid->ended < grid->work->task.kernel.blocks) return;
  buffer_perform(&grid->leftover, 8, &emu.random, memory_changed);
  grid_release(grid);
}

void lane_end(emu_lane *ended) {
  emu_warp *warp = ended->warp;
  lane_forget_watches(ended);
  fiber_close(ended->fiber);
  if (++warp->ended == warp->lane_count && ++warp->block->ended == warp->block->warp_count)
    block_end(warp->block);
}
