/* The emulated machine: its devices, and the work that host threads gave them. There is one in a
 * process, because the driver's entry points take no handle that could say which. */
#ifndef LAMPAR_EMU_MACHINE_H
#define LAMPAR_EMU_MACHINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "work.h"

enum {
  DEVICES_MAX = 16,
  MULTIPROCESSORS = 4,
  LANES_PER_MULTIPROCESSOR = 128,
  CLUSTER_BLOCKS_MAX = 16,
};

typedef struct CUctx_st {
  int device;
} context;

typedef struct device {
  context primary;
  int number;     /* of the machine\'s devices; CUDA_VISIBLE_DEVICES may choose and reorder them */
  int error;      /* not 0: a kernel failed; every later call on the device returns it */
  uint32_t peers; /* bit d: access to the memory of device d is enabled */
  unsigned streams; /* made so far */
  struct CUstream_st *default_stream;
} device;

typedef struct waiter {
  struct waiter *next;
  work *work;
  int task;
  bool asks; /* a query: returns when the device has done all it can */
  bool satisfied;
} waiter;

typedef struct machine {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_initialised;
  int device_count;
  device devices[DEVICES_MAX];
  bool has_peer_access; /* LAMPAR_EMU_P2P */
  int grace_ms;         /* LAMPAR_EMU_GRACE_MS */
  bool is_shared;       /* another process has memory of this one, or this one of another */

  uint64_t seed, random;
  uint64_t clock_ns; /* moves only when nothing else can */
  uint64_t steps;    /* of the scheduler */
  uint64_t changes;  /* of memory, and ends of works: progress that others can see */

  atomic_int inside; /* threads within an entry point */
  bool has_leader;
  uint64_t still_since;  /* ms; 0: the devices can do something */
  unsigned vain_queries; /* since then */
  waiter *waiters;
  work *arrived; /* enqueued since the device last ran */
} machine;

extern machine emu;

/* Every entry point is between these two: they hold the lock. */
void machine_enter(void);
int machine_leave(int result);

/* Reads LAMPAR_EMU_*; again for a new seed. False: a value is not allowed (said on stderr). */
bool machine_configure(void);

/* The device of the calling thread's context; -1: it has none. */
int machine_current_device(void);

/* Waits for the work's end. 0, the device's error or, when `asks`, NOT_READY as soon as the devices
 * can do nothing more without the host. */
int machine_wait(work *work, bool asks);

#endif
