#include "emulator/exec/pace.h"

#include "emulator/exec/devices.h"

emu_pace pace;

void pace_draw(void) {
  static const uint32_t switches[] = {2, 8, 32, 128}, performs[] = {1, 4, 32, 0},
                        starts[] = {2, 16, 128, 0};
  pace.switches = switches[emu_below(4)];
  pace.performs = performs[emu_below(4)];
  pace.starts = starts[emu_below(4)];
  pace.slow_device = emu_below(2) ? (int)emu_below((uint32_t)emu.device_count) : -1;
  pace.slow_warps = emu_below(2 * SLOW_EVERY);
}
