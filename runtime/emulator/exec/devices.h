/* The emulated devices as their kernels see them, and all that decides a run: the seed, the clock
 * and the counters of progress. There is one machine in a process, because the driver's entry
 * points take no handle that could name another. The host's lock guards all of it. */
#ifndef LAMPAR_EMU_DEVICES_H
#define LAMPAR_EMU_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "emulator/exec/random.h"

enum {
  DEVICES_MAX = 16,
  MULTIPROCESSORS = 4,
  LANES_PER_MULTIPROCESSOR = 128,
  CLUSTER_BLOCKS_MAX = 16,
};

typedef struct emu_device {
  int error;      /* not 0: a kernel failed; every later call on the device returns it */
  uint32_t peers; /* bit d: access to the memory of device d is enabled */
} emu_device;

typedef struct emu_machine {
  int device_count;
  emu_device devices[DEVICES_MAX];
  bool is_shared; /* another process has mapped memory of this one, or this one of another */

  uint64_t seed, random; /* LAMPAR_EMU_SEED, and the state that chance is drawn from */
  uint64_t clock_ns;     /* moves only when nothing else can */
  uint64_t steps;        /* of the scheduler */
  uint64_t changes;      /* of memory, and ends of works: progress that others can see */
} emu_machine;

extern emu_machine emu;

/* 0 .. count-1, by chance. */
static inline uint32_t emu_below(uint32_t count) {
  return random_below(&emu.random, count);
}

#endif
