/* Fibers: values and floats survive switches, and a fiber that was closed in the middle is used
 * again. No test framework, so that a cross compiler alone can build it. */
#include <stdio.h>

#include "emulator/exec/fiber.h"

enum { FIBERS = 100, ROUNDS = 50 };

static struct emu_fiber *fibers[FIBERS], *current;
static double results[FIBERS];
static int ended;

/* Live across each switch: integers and floats in registers that a call preserves. */
static void count(void) {
  struct emu_fiber *self = current;
  int index = 0;
  while (fibers[index] != self) ++index;
  double sum = 0.5, step = index;
  for (int i = 0; i < ROUNDS; ++i) {
    fiber_leave(self);
    sum += step;
  }
  results[index] = sum;
  ++ended;
}

static void resume(int index) {
  current = fibers[index];
  fiber_resume(current);
}

int main(void) {
  for (int again = 0; again < 3; ++again) {
    ended = 0;
    for (int i = 0; i < FIBERS; ++i) fibers[i] = fiber_open(count);
    for (int round = 0; round <= ROUNDS; ++round)
      for (int i = 0; i < FIBERS; ++i)
        if (again == 2 || i % 7 > 0 || round < 3)
          resume(i); /* each seventh is closed in the middle */
    for (int i = 0; i < FIBERS; ++i) {
      const int expected = again == 2 || i % 7 > 0;
      if (expected && results[i] != 0.5 + (double)ROUNDS * i) {
        printf("FAILED: fiber %d has %f\n", i, results[i]);
        return 1;
      }
      results[i] = 0;
      fiber_close(fibers[i]);
    }
    if (ended != (again == 2 ? FIBERS : FIBERS - (FIBERS + 6) / 7)) {
      printf("FAILED: %d fibers ended\n", ended);
      return 1;
    }
  }
  return 0;
}
