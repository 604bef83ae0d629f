/* What a device is asked to do, and the order between those things: a directed graph without
 * cycles. Streams and events are only ways to write down its edges; a launched graph is a copy of
 * its nodes. */
#ifndef LAMPAR_EMU_WORK_H
#define LAMPAR_EMU_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel_interface.h"

struct CUfunc_st;
struct ncclComm;
struct grid;

typedef enum work_kind {
  WORK_NOTHING, /* joins others */
  WORK_KERNEL,
  WORK_FILL,
  WORK_COPY,
  WORK_FREE,
  WORK_COLLECTIVE,
} work_kind;

/* All that a graph's node holds. */
typedef struct task {
  work_kind kind;
  int device;
  bool is_programmatic; /* a kernel that may start before the one before it has ended */
  union {
    struct {
      struct CUfunc_st *function;
      unsigned blocks, threads, cluster;
      char parameters[KERNEL_PARAMETER_BYTES_MAX];
    } kernel;
    struct {
      uintptr_t at;
      uint32_t value;
      size_t words;
    } fill;
    struct {
      uintptr_t to, from;
      size_t to_pitch, from_pitch, width, height;
    } copy;
    uintptr_t freed;
    struct {
      struct ncclComm *comm;
      bool gathers;
      uintptr_t input, output;
      size_t count;
      int dtype, op;
    } collective;
  };
} task;

typedef struct edge {
  struct work *to;
  bool is_programmatic;
} edge;

typedef struct work {
  task task;
  /* Orders works whatever thread was first: device, stream of the device, number within the stream.
   */
  uint64_t key[3];
  int references;
  struct work *next; /* in the list of those that arrived, or are ready, or are under way */
  edge *edges;       /* to those that wait for this one */
  size_t edge_count, edge_capacity;
  unsigned blocked;      /* edges that still keep it from starting */
  unsigned incomplete;   /* edges that still keep it from being done */
  struct work *previous; /* of a programmatic kernel: whose end wait_for_previous_grid waits for */
  struct grid *grid;
  void *staged; /* bytes of a copy from pageable host memory */
  bool has_triggered, has_finished, is_done;
  int error;
  uint64_t ended_at; /* machine.steps */
} work;

/* One reference, the caller's; the machine takes its own at work_submit. */
work *work_create(const task *task);
work *work_keep(work *work);
void work_release(work *work); /* NULL is allowed */

/* `later` waits for `earlier`; NULL, or a work that is done, is no edge. */
void work_order(work *earlier, work *later, bool is_programmatic);

/* From here on the machine may start it. */
void work_submit(work *work);

/* What the devices report. Each may make other works ready. */
void work_trigger(work *work); /* all blocks of a grid allowed the next one, or ended */
void work_finish(work *work);  /* it has ended, and all its stores are performed */

/* Called when nothing keeps a submitted work from starting. */
void work_is_ready(work *work);
/* Called when a programmatic kernel's previous one has finished. */
void grid_previous_finished(struct grid *grid);

int work_compare(const work *a, const work *b);

#endif
