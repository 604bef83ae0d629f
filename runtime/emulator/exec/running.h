/* The lane that runs, and those that could. */
#ifndef LAMPAR_EMU_RUNNING_H
#define LAMPAR_EMU_RUNNING_H

#include "emulator/exec/hierarchy.h"
#include "emulator/exec/kernel_interface.h"

/* The lane that runs, for the primitives; NULL: the scheduler does. */
extern emu_lane *running;
extern kernel_interface emu_interface;

/* ---- called by the scheduler ------------------------------------------------------------- */

size_t lanes_runnable(void);
/* Of the runnable ones, by number. */
emu_lane *lane_runnable(size_t slot);
void lane_make_runnable(emu_lane *lane);
void lane_put_aside(emu_lane *lane, emu_lane_state state);
/* Runs it until it leaves. */
void lane_run(emu_lane *lane);
/* True once after lane_fail: which device, and with which error. */
bool lane_has_failed(int *device, int *error);

/* ---- called by the lane that runs -------------------------------------------------------- */

/* Puts the running lane aside. It goes on when it is made runnable again and chosen. */
void lane_leave(emu_lane_state state);
/* Perhaps lets another lane run first. */
void lane_may_switch(void);
/* The running lane did what a GPU forbids: prints it and ends its device's work. Does not return.
 */
__attribute__((format(printf, 2, 3), noreturn)) void lane_fail(int error, const char *format, ...);

#endif
