/* The machine as the driver shows it to host threads: one lock around every entry point, the
 * devices' numbers and contexts, and what LAMPAR_EMU_* sets. */
#ifndef LAMPAR_EMU_MACHINE_H
#define LAMPAR_EMU_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "emulator/exec/devices.h"
#include "emulator/host/api.h"

typedef struct CUctx_st {
  int device;
} emu_context;

typedef struct emu_host {
  pthread_mutex_t lock;
  atomic_int inside;    /* threads within an entry point */
  bool has_peer_access; /* LAMPAR_EMU_P2P */
  int grace_ms;         /* LAMPAR_EMU_GRACE_MS */

  /* Set by the first cuInit, and read without the lock by those that called it. */
  bool is_initialised;
  emu_context contexts[DEVICES_MAX];
  /* Of the machine's devices; CUDA_VISIBLE_DEVICES may choose and reorder them. */
  int numbers[DEVICES_MAX];
} emu_host;

extern emu_host host;

/* Every entry point is between these two: they hold the lock. */
void machine_enter(void);
int machine_leave(int result);

/* Starts the schedule of a seed; LAMPAR_EMU_SEED is the first one. */
void machine_set_seed(uint64_t seed);

/* Reads LAMPAR_EMU_*. False: a value is not allowed (stderr names it). */
bool machine_configure(void);

#endif
