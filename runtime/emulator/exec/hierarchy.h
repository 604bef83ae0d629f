/* CUDA's thread hierarchy as the emulator runs it: grids of blocks of warps of lanes. */
#ifndef LAMPAR_EMU_HIERARCHY_H
#define LAMPAR_EMU_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/exec/store_buffer.h"
#include "emulator/exec/work.h"

enum { WARP_LANES = 32, WATCHES_MAX = 16, PARTIALS_BARRIERS = 2 };

/* An address that a lane found unchanged in its loop. */
typedef struct emu_watch {
  uintptr_t vector; /* address / 16 */
  struct emu_lane *lane;
  struct emu_watch *next, **link;
} emu_watch;

typedef enum emu_lane_state {
  LANE_RUNNABLE,
  LANE_POLLS,      /* until one of its addresses changes */
  LANE_AT_MEETING, /* of its warp */
  LANE_AT_BLOCK_BARRIER,
  LANE_AT_CLUSTER_BARRIER,
  LANE_AWAITS_PARTIALS,
  LANE_AWAITS_GRID,
  LANE_ENDED,
} emu_lane_state;

typedef struct emu_lane {
  struct emu_fiber *fiber;
  struct emu_warp *warp;
  unsigned index; /* within the warp */
  emu_lane_state state;
  size_t slot; /* among the runnable ones */
  emu_watch watches[WATCHES_MAX];
  unsigned watched;
  bool has_news;              /* a watched address changed */
  unsigned spins;             /* rounds of polling before it sleeps again */
  uint64_t offered, received; /* in a shuffle */
  unsigned partner;
  unsigned cluster_phase; /* that it arrived in */
  unsigned awaited;       /* which of the block's barriers */
} emu_lane;

/* What all lanes of a warp do at once. */
typedef enum emu_warp_meeting { MEETING_BARRIER, MEETING_SHUFFLE } emu_warp_meeting;

typedef struct emu_warp {
  struct emu_block *block;
  unsigned index; /* within the block */
  unsigned lane_count, ended, met;
  emu_warp_meeting meeting; /* of those that have met */
  size_t slot;              /* among all warps */
  emu_store_buffer stores;
  emu_lane lanes[WARP_LANES];
} emu_warp;

/* An mbarrier: a phase is over when the arrivals and the bytes that it takes have come. */
typedef struct emu_partials_barrier {
  unsigned arrivals; /* that a phase takes; 0: nobody has made the barrier yet */
  unsigned missing;  /* arrivals */
  int64_t bytes;     /* still to come; negative: more have come than are expected so far */
  unsigned phases;   /* that are over */
} emu_partials_barrier;

typedef struct emu_block {
  struct emu_grid *grid;
  struct emu_block *next;
  unsigned index;
  unsigned warp_count, ended;
  bool has_allowed;                     /* the next grid, or it has ended */
  unsigned at_barrier, barriers_passed; /* of all its lanes */
  struct emu_cluster *cluster;
  char *shared; /* memory */
  emu_partials_barrier partials[PARTIALS_BARRIERS];
  emu_warp warps[];
} emu_block;

typedef struct emu_grid {
  emu_work *work;
  struct emu_grid *next;
  unsigned started, allowed, ended, resident, resident_max; /* blocks */
  emu_block *blocks;                                        /* those on the device */
  emu_store_buffer leftover;                                /* of blocks that have ended */
  struct emu_cluster *cluster;                              /* of the block that started last */
} emu_grid;

#endif
