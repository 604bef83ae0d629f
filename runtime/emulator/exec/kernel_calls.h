/* What a kernel calls: the primitives of templates/parts/emu. */
#ifndef LAMPAR_EMU_KERNEL_CALLS_H
#define LAMPAR_EMU_KERNEL_CALLS_H

#include "emulator/exec/kernel_interface.h"

void kernel_calls_install(kernel_interface *interface);

#endif
