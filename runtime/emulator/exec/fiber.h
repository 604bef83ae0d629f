/* A stack of its own for each lane, and the switch to it and back. One host thread at a time runs
 * fibers, not always the same one. */
#ifndef LAMPAR_EMU_FIBER_H
#define LAMPAR_EMU_FIBER_H

struct emu_fiber;

/* A fiber that calls `entry` at its first resume and leaves for good when that returns. */
struct emu_fiber *fiber_open(void (*entry)(void));
/* The fiber may be anywhere in its entry. */
void fiber_close(struct emu_fiber *fiber);

/* Runs the fiber until it leaves. */
void fiber_resume(struct emu_fiber *fiber);
/* By the fiber that runs: goes back to who resumed it. */
void fiber_leave(struct emu_fiber *fiber);

#endif
