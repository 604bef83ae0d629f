/* A stack of its own for each lane, and the switch to it and back. One host thread at a time runs
 * fibers, not always the same one. */
#ifndef LAMPAR_EMU_FIBER_H
#define LAMPAR_EMU_FIBER_H

typedef struct emu_fiber {
  void *stack;         /* its lowest address */
  void *stack_pointer; /* while it does not run */
  void (*entry)(void);
  void *sanitizer; /* what AddressSanitizer or ThreadSanitizer keeps of it */
} emu_fiber;

/* Acquires a stack. The first resume calls `entry`, which never returns: it leaves. */
void fiber_open(emu_fiber *fiber, void (*entry)(void));
/* Releases the stack, wherever the fiber is. */
void fiber_close(emu_fiber *fiber);

/* Runs the fiber until it leaves. */
void fiber_resume(emu_fiber *fiber);
/* By the fiber that runs: goes back to who resumed it. */
void fiber_leave(emu_fiber *fiber);

#endif
