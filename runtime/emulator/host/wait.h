/* Host threads that wait for works of the devices. */
#ifndef LAMPAR_EMU_WAIT_H
#define LAMPAR_EMU_WAIT_H

#include <stdbool.h>

#include "emulator/exec/work.h"

/* Waits for the work's end. Returns 0, the device's error or, for a query, NOT_READY as soon as the
 * devices can do nothing more without the host. */
int machine_wait(emu_work *work, bool is_query);

#endif
