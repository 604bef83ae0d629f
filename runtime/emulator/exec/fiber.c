#include "emulator/exec/fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emulator/exec/require.h"
#include "emulator/exec/sanitizer.h"

enum { STACK_BYTES = HAS_LARGE_FRAMES ? 256 * 1024 : 64 * 1024 };

/* Never freed, but used again. */
struct emu_fiber {
  struct emu_fiber *next; /* among those that are free */
  void *stack;            /* its lowest address */
  void *stack_pointer;    /* while it does not run */
  void (*entry)(void);
  bool has_ended; /* its entry returned */
};

static struct emu_fiber *free_fibers;
static void *resumer_stack_pointer; /* of who resumed the fiber that runs */
static emu_resumer_stack resumer_stack;
static struct emu_fiber *resumed;

/* Saves the running stack in `*from` and goes on with `to`. Only what a function must preserve is
 * saved: the compiler takes the switch for a plain call. swapcontext would do as well, but asks the
 * kernel for the signal mask at every switch. */
void fiber_switch(void **from, void *to);

#if defined(__x86_64__)
enum { SAVED_WORDS = 6 };
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch,@function\n"
        "fiber_switch:\n"
        "  push %rbp\n"
        "  push %rbx\n"
        "  push %r12\n"
        "  push %r13\n"
        "  push %r14\n"
        "  push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n"
        "  pop %r14\n"
        "  pop %r13\n"
        "  pop %r12\n"
        "  pop %rbx\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size fiber_switch,.-fiber_switch\n");

/* A stack pointer for fiber_switch: the first switch to it calls `entry`. */
static void *prepare(void *stack, void (*entry)(void)) {
  /* At the entry of a function, behind the return address, the stack is 8 below a multiple of 16.
   */
  uintptr_t *top = (uintptr_t *)((char *)stack + STACK_BYTES);
  uintptr_t *frame = top - 1 - (SAVED_WORDS + 1);
  memset(frame, 0, (char *)top - (char *)frame);
  frame[SAVED_WORDS] = (uintptr_t)entry;
  return frame;
}

#elif defined(__aarch64__)
enum { SAVED_WORDS = 20, LINK_WORD = 11 };
__asm__(".text\n"
        ".globl fiber_switch\n"
        ".hidden fiber_switch\n"
        ".type fiber_switch,@function\n"
        "fiber_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size fiber_switch,.-fiber_switch\n");

static void *prepare(void *stack, void (*entry)(void)) {
  uintptr_t *frame = (uintptr_t *)((char *)stack + STACK_BYTES) - SAVED_WORDS;
  memset(frame, 0, SAVED_WORDS * sizeof *frame);
  frame[LINK_WORD] = (uintptr_t)entry;
  return frame;
}

#else
#error "the emulated device runs on x86-64 and aarch64"
#endif

static void start(void) {
  struct emu_fiber *self = resumed;
  sanitizer_switched(NULL, &resumer_stack);
  for (;;) {
    self->entry();
    self->has_ended = true;
    fiber_leave(self);
  }
}

static void create_some(void) {
  /* An odd number of cache lines apart: their tops would else all share a few sets of the cache. */
  enum { COUNT = 64, STRIDE = STACK_BYTES + 5 * 64 };
  char *stack = mmap(NULL, (size_t)COUNT * STRIDE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) require(NULL);
  struct emu_fiber *created = require(calloc(COUNT, sizeof *created));
  for (int i = 0; i < COUNT; ++i, ++created, stack += STRIDE) {
    *created = (struct emu_fiber){
        .stack = stack, .stack_pointer = prepare(stack, start), .next = free_fibers};
    free_fibers = created;
  }
}

struct emu_fiber *fiber_open(void (*entry)(void)) {
  if (free_fibers == NULL) create_some();
  struct emu_fiber *opened = free_fibers;
  free_fibers = opened->next;
  opened->entry = entry;
  opened->has_ended = false;
  return opened;
}

void fiber_close(struct emu_fiber *fiber) {
  if (!fiber->has_ended) {
    sanitizer_forget_frames(fiber->stack, STACK_BYTES);
    fiber->stack_pointer = prepare(fiber->stack, start);
  }
  fiber->next = free_fibers;
  free_fibers = fiber;
}

void fiber_resume(struct emu_fiber *fiber) {
  resumed = fiber;
  void *left = sanitizer_switch_to(fiber->stack, STACK_BYTES);
  fiber_switch(&resumer_stack_pointer, fiber->stack_pointer);
  sanitizer_switched(left, NULL);
}

void fiber_leave(struct emu_fiber *fiber) {
  void *left = sanitizer_switch_to(resumer_stack.start, resumer_stack.bytes);
  fiber_switch(&fiber->stack_pointer, resumer_stack_pointer);
  sanitizer_switched(left, &resumer_stack);
}
