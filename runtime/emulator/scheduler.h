/* The devices at work: grids, blocks, warps and lanes, and which of them moves next. All of it
 * happens on one host thread at a time, which holds the machine's lock. */
#ifndef LAMPAR_EMU_SCHEDULER_H
#define LAMPAR_EMU_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel_interface.h"
#include "store_buffer.h"
#include "work.h"

enum { WARP_LANES = 32, WATCHES_MAX = 16, PARTIALS_BARRIERS = 2 };

/* An address that a lane found unchanged in its loop. */
typedef struct watch {
  uintptr_t vector; /* address / 16 */
  struct lane *lane;
  struct watch *next, **link;
} watch;

typedef enum lane_state {
  LANE_RUNNABLE,
  LANE_POLLS,      /* until one of its addresses changes */
  LANE_AT_MEETING, /* of its warp */
  LANE_AT_BLOCK_BARRIER,
  LANE_AT_CLUSTER_BARRIER,
  LANE_AWAITS_PARTIALS,
  LANE_AWAITS_GRID,
  LANE_ENDED,
} lane_state;

typedef struct lane {
  void *stack_pointer, *stack;
  struct warp *warp;
  unsigned index; /* within the warp */
  lane_state state;
  size_t slot; /* among the runnable ones */
  watch watches[WATCHES_MAX];
  unsigned watched;
  bool has_news;              /* a watched address changed */
  unsigned patience;          /* rounds of polling before it sleeps again */
  uint64_t offered, received; /* in a shuffle */
  unsigned partner;
  unsigned cluster_phase; /* that it arrived in */
  unsigned awaited;       /* which of the block's barriers */
} lane;

/* What all lanes of a warp do at once. */
typedef enum warp_meeting { MEETING_BARRIER, MEETING_SHUFFLE } warp_meeting;

typedef struct warp {
  struct block *block;
  unsigned index; /* within the block */
  unsigned lane_count, ended, met;
  warp_meeting meeting; /* of those that have met */
  size_t slot;          /* among all warps */
  store_buffer stores;
  lane lanes[WARP_LANES];
} warp;

/* An mbarrier: a phase is over when the arrivals and the bytes that it takes have come. */
typedef struct partials_barrier {
  unsigned arrivals; /* that a phase takes; 0: nobody has made the barrier yet */
  unsigned missing;  /* arrivals */
  int64_t bytes;     /* still to come; negative: more have come than are expected so far */
  unsigned phases;   /* that are over */
} partials_barrier;

typedef struct block {
  struct grid *grid;
  struct block *next;
  unsigned index;
  unsigned warp_count, ended;
  bool has_allowed;                     /* the next grid, or it has ended */
  unsigned at_barrier, barriers_passed; /* of all its lanes */
  struct cluster *cluster;
  char *shared; /* memory */
  partials_barrier partials[PARTIALS_BARRIERS];
  warp warps[];
} block;

typedef struct grid {
  work *work;
  struct grid *next;
  unsigned started, allowed, ended, resident, resident_max; /* blocks */
  block *blocks;                                            /* those on the device */
  store_buffer leftover;                                    /* of blocks that have ended */
  struct cluster *cluster;                                  /* of the block that started last */
} grid;

/* The lane that runs, for the primitives. */
extern lane *running;
extern kernel_interface emu_interface;

/* Puts the running lane aside. It goes on when it is made runnable again and chosen. */
void lane_leave(lane_state state);
void lane_make_runnable(lane *lane);
/* Perhaps lets another lane run first. */
void lane_may_switch(void);
/* The running lane did what a GPU forbids: says so and ends its device's work. Does not return. */
__attribute__((format(printf, 2, 3), noreturn)) void lane_fail(int error, const char *format, ...);

/* One of the block's threads allows the next grid, or the block has ended. */
void block_allow_next(block *block);

/* watch.c */
bool lane_watches(const lane *lane, uintptr_t vector);
bool lane_watch(lane *lane, uintptr_t vector); /* false: it watches too many */
void lane_forget_watches(lane *lane);
void memory_changed_range(uintptr_t at, size_t bytes);

/* Does all that the devices can do now; true when something changed that a host or a peer may see.
 */
bool scheduler_run(void);

/* Another process may have changed memory: every lane that polls looks again. */
void scheduler_look_again(void);

/* For when nothing can run and nobody will come: moves the clock on, so that bounded waits end.
 * When that does not help either, says who waits for what and fails the devices. */
void scheduler_break_deadlock(void);

/* All grids, for the report. */
const grid *scheduler_grids(void);
work *scheduler_collectives(void);

/* Takes a collective as far as the other ranks allow. */
typedef enum collective_progress {
  COLLECTIVE_WAITS,
  COLLECTIVE_MOVED, /* told the other ranks something */
  COLLECTIVE_ENDED,
} collective_progress;
collective_progress collective_step(work *work);
/* "NCCL all-reduce 7 of rank 1 waits for ranks 0 2" */
void collective_describe(const work *work, char *text, size_t size);

/* The primitives, in kernel_calls.c; ending lanes come back to the scheduler. */
void kernel_calls_install(kernel_interface *interface);

/* report.c: who waits for what, on stderr. */
void report_deadlock(bool is_final);
void report_seed(void);

#endif
