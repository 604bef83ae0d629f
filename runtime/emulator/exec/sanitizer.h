/* AddressSanitizer and ThreadSanitizer follow every switch of stacks, so that what they report of
 * fibers is real. In a plain build all of this is nothing. */
#ifndef LAMPAR_EMU_SANITIZER_H
#define LAMPAR_EMU_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#endif

#if defined(HAS_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

enum { IS_SANITIZED = true };

static const void *resumer_stack; /* of who resumed the fiber that runs */
static size_t resumer_stack_bytes;

static inline void *sanitizer_fiber_create(void) {
  return NULL;
}

/* A fiber that was closed in the middle of its functions leaves their frames poisoned. */
static inline void sanitizer_fiber_destroy(void *fiber, void *stack, size_t bytes) {
  (void)fiber;
  __asan_unpoison_memory_region(stack, bytes);
}

/* Before a switch. Returns what sanitizer_switched wants when this stack runs again. */
static inline void *sanitizer_switch_to(void *fiber, const void *stack, size_t bytes) {
  (void)fiber;
  void *left = NULL;
  __sanitizer_start_switch_fiber(&left, stack, bytes);
  return left;
}

static inline void *sanitizer_switch_back(void) {
  void *left = NULL;
  __sanitizer_start_switch_fiber(&left, resumer_stack, resumer_stack_bytes);
  return left;
}

/* After a switch, on the stack that now runs. */
static inline void sanitizer_switched(void *left, bool is_fiber) {
  __sanitizer_finish_switch_fiber(left, is_fiber ? &resumer_stack : NULL,
                                  is_fiber ? &resumer_stack_bytes : NULL);
}

#elif defined(HAS_TSAN)
#include <sanitizer/tsan_interface.h>

enum { IS_SANITIZED = true };

static void *resumer; /* who resumed the fiber that runs */

static inline void *sanitizer_fiber_create(void) {
  return __tsan_create_fiber(0);
}

static inline void sanitizer_fiber_destroy(void *fiber, void *stack, size_t bytes) {
  (void)stack, (void)bytes;
  __tsan_destroy_fiber(fiber);
}

static inline void *sanitizer_switch_to(void *fiber, const void *stack, size_t bytes) {
  (void)stack, (void)bytes;
  resumer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, 0);
  return NULL;
}

static inline void *sanitizer_switch_back(void) {
  __tsan_switch_to_fiber(resumer, 0);
  return NULL;
}

static inline void sanitizer_switched(void *left, bool is_fiber) {
  (void)left, (void)is_fiber;
}

#else

enum { IS_SANITIZED = false };

static inline void *sanitizer_fiber_create(void) {
  return NULL;
}

static inline void sanitizer_fiber_destroy(void *fiber, void *stack, size_t bytes) {
  (void)fiber, (void)stack, (void)bytes;
}

static inline void *sanitizer_switch_to(void *fiber, const void *stack, size_t bytes) {
  (void)fiber, (void)stack, (void)bytes;
  return NULL;
}

static inline void *sanitizer_switch_back(void) {
  return NULL;
}

static inline void sanitizer_switched(void *left, bool is_fiber) {
  (void)left, (void)is_fiber;
}

#endif

#endif
