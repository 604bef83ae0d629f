#include "emulator/exec/deadlock.h"

#include "emulator/exec/devices.h"
#include "emulator/exec/errors.h"
#include "emulator/exec/grid.h"
#include "emulator/exec/report.h"
#include "emulator/exec/scheduler.h"

/* A kernel looks at its clock every 256 rounds, and needs two looks: at the start of its wait, and
 * after its bound. The leap is longer than any bound. */
void deadlock_break(void) {
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
    if (scheduler_wake_polling(ROUNDS) > 0) return;
    report_deadlock(true);
  }
  leaps = 0;
  uint32_t failed = 0;
  for (const emu_grid *grid = grids_first(); grid != NULL; grid = grid->next)
    failed |= 1u << grid->work->task.device;
  for (const emu_work *work = scheduler_collectives(); work != NULL; work = work->next)
    failed |= 1u << work->task.device;
  for (int device = 0; device < DEVICES_MAX; ++device)
    if (failed >> device & 1) scheduler_fail_device(device, CUDA_ERROR_LAUNCH_TIMEOUT);
}
