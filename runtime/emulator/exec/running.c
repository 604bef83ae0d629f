#include "emulator/exec/running.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/fiber.h"
#include "emulator/exec/module.h"
#include "emulator/exec/pace.h"
#include "emulator/exec/require.h"
#include "emulator/exec/seed.h"

emu_lane *running;
kernel_interface emu_interface;

static emu_lane **runnable;
static size_t runnable_count, runnable_capacity;

size_t lanes_runnable(void) {
  return runnable_count;
}

emu_lane *lane_runnable(size_t slot) {
  return runnable[slot];
}

void lane_make_runnable(emu_lane *lane) {
  if (runnable_count == runnable_capacity) {
    runnable_capacity = runnable_capacity ? 2 * runnable_capacity : 256;
    runnable = require(realloc(runnable, runnable_capacity * sizeof *runnable));
  }
  lane->state = LANE_RUNNABLE;
  lane->slot = runnable_count;
  runnable[runnable_count++] = lane;
}

void lane_put_aside(emu_lane *lane, emu_lane_state state) {
  if (lane->state == LANE_RUNNABLE) {
    runnable[lane->slot] = runnable[--runnable_count];
    runnable[lane->slot]->slot = lane->slot;
  }
  lane->state = state;
}

void lane_leave(emu_lane_state state) {
  emu_lane *leaving = running;
  lane_put_aside(leaving, state);
  fiber_leave(leaving->fiber);
}

void lane_may_switch(void) {
  if (emu_below(pace.switches) == 0) fiber_leave(running->fiber);
}

void lane_run(emu_lane *lane) {
  const emu_warp *warp = lane->warp;
  const emu_grid *grid = warp->block->grid;
  running = lane;
  emu_interface.thread = (kernel_index){warp->index * WARP_LANES + lane->index, 0, 0};
  emu_interface.block = (kernel_index){warp->block->index, 0, 0};
  emu_interface.block_size = (kernel_index){grid->work->task.kernel.threads, 1, 1};
  emu_interface.grid_size = (kernel_index){grid->work->task.kernel.blocks, 1, 1};
  emu_interface.shared = warp->block->shared;
  fiber_resume(lane->fiber);
  running = NULL;
}

static int failing_device = -1, failing_error;

bool lane_has_failed(int *device, int *error) {
  const bool has_failed = failing_device >= 0;
  *device = failing_device;
  *error = failing_error;
  failing_device = -1;
  return has_failed;
}

void lane_fail(int error, const char *format, ...) {
  const emu_block *block = running->warp->block;
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
  fiber_leave(running->fiber);
  abort(); /* nobody runs a lane of a device that failed */
}
