#include "emulator/exec/devices.h"

emu_machine emu;
