/* The devices at work: which lane, store or work moves next. All of it happens on one host thread
 * at a time, which holds the machine's lock. */
#ifndef LAMPAR_EMU_SCHEDULER_H
#define LAMPAR_EMU_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>

#include "emulator/exec/work.h"

/* Does all that the devices can do now; true when something changed that a host or a peer may see.
 */
bool scheduler_run(void);

/* Every lane that polls looks again, `spins` rounds long, before it sleeps. Returns how many. With
 * 0 for when another process may have changed memory. */
size_t scheduler_wake_polling(unsigned spins);

/* The device is lost: its grids and collectives end, and its later calls return the error. */
void scheduler_fail_device(int device, int error);

/* Those that wait for other ranks, sorted. */
emu_work *scheduler_collectives(void);

#endif
