/* AddressSanitizer follows every switch of stacks, so that what it reports of fibers is real. In
 * other builds all of this is nothing; ThreadSanitizer does not look into exec/. */
#ifndef LAMPAR_EMU_SANITIZER_H
#define LAMPAR_EMU_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define IF_ASAN(...) __VA_ARGS__
enum { HAS_LARGE_FRAMES = true };
#else
#define IF_ASAN(...)
enum { HAS_LARGE_FRAMES = false };
#endif

/* Of who resumed the fiber that runs. */
typedef struct emu_resumer_stack {
  const void *start;
  size_t bytes;
} emu_resumer_stack;

/* Before a switch to that stack. Returns what sanitizer_switched wants when this one runs again. */
static inline void *sanitizer_switch_to(const void *stack, size_t bytes) {
  (void)stack, (void)bytes;
  void *left = NULL;
  IF_ASAN(__sanitizer_start_switch_fiber(&left, stack, bytes);)
  return left;
}

/* After a switch, on the stack that now runs. A fiber learns who resumed it. */
static inline void sanitizer_switched(void *left, emu_resumer_stack *resumer) {
  (void)left, (void)resumer;
  IF_ASAN(__sanitizer_finish_switch_fiber(left, resumer ? &resumer->start : NULL,
                                          resumer ? &resumer->bytes : NULL);)
}

/* Functions that nobody will return from leave their frames poisoned. */
static inline void sanitizer_forget_frames(void *stack, size_t bytes) {
  (void)stack, (void)bytes;
  IF_ASAN(__asan_unpoison_memory_region(stack, bytes);)
}

#endif
