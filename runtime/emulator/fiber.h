/* A stack of its own for each lane, and the switch between two of them. */
#ifndef LAMPAR_EMU_FIBER_H
#define LAMPAR_EMU_FIBER_H

enum { FIBER_STACK_BYTES = 32 * 1024 };

/* The lowest address of a stack. Stacks are never freed, but used again. */
void *fiber_stack_take(void);
void fiber_stack_give_back(void *stack);

/* A stack pointer for fiber_switch: the first switch to it calls `entry`, which never returns. */
void *fiber_prepare(void *stack, void (*entry)(void));

/* Saves the running stack in `*from` and goes on with `to`. */
void fiber_switch(void **from, void *to);

#endif
