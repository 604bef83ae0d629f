/* The work of the devices and its order: a directed acyclic graph. Streams and events only add
 * edges to it; a launched graph is a copy of its nodes. */
#ifndef LAMPAR_EMU_WORK_H
#define LAMPAR_EMU_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/exec/kernel_interface.h"

struct CUfunc_st;
struct ncclComm;
struct emu_grid;

typedef enum emu_work_kind {
  WORK_NOTHING, /* joins others */
  WORK_KERNEL,
  WORK_FILL,
  WORK_COPY,
  WORK_FREE,
  WORK_COLLECTIVE,
} emu_work_kind;

/* All that a graph's node holds. */
typedef struct emu_task {
  emu_work_kind kind;
  int device;
  bool is_programmatic; /* a kernel that may start before the one before it has ended */
  union {
    struct {
      struct CUfunc_st *function;
      unsigned blocks, threads, cluster;
      _Alignas(16) char parameters[KERNEL_PARAMETER_BYTES_MAX];
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
} emu_task;

typedef struct emu_edge {
  struct emu_work *to;
  bool is_programmatic;
} emu_edge;

typedef struct emu_work {
  emu_task task;
  /* Orders works whatever thread was first: device, stream of the device, number within the stream.
   */
  uint64_t key[3];
  int references;
  struct emu_work *next; /* in the list of those that arrived, or are ready, or are under way */
  emu_edge *edges;       /* to those that wait for this one */
  size_t edge_count, edge_capacity;
  unsigned blocked;    /* edges that still keep it from starting */
  unsigned incomplete; /* edges that still keep it from being done */
  struct emu_work
      *previous; /* of a programmatic kernel: whose end wait_for_previous_grid waits for */
  struct emu_grid *grid;
  void *staged; /* bytes of a copy from pageable host memory */
  bool has_triggered, has_finished, is_done;
  int error;
  uint64_t ended_at; /* machine.steps */
} emu_work;

/* One reference, the caller's; the machine takes its own at work_submit. */
emu_work *work_create(const emu_task *task);
emu_work *work_retain(emu_work *work);
void work_release(emu_work *work); /* NULL is allowed */

/* `later` waits for `earlier`; NULL, or a work that is done, is no edge. */
void work_order(emu_work *earlier, emu_work *later, bool is_programmatic);

/* From here on the machine may start it. */
void work_submit(emu_work *work);

/* What the devices report to the works that wait. Each may make other works ready. */
void work_trigger(emu_work *work); /* all blocks of a grid allowed the next one, or ended */
void work_finish(emu_work *work);  /* it has ended, and all its stores are performed */

/* ---- called by the scheduler ------------------------------------------------------------- */

/* Works that were submitted since the last works_admit. */
bool works_have_arrived(void);
/* Takes them in, whatever order the host's threads submitted them in. */
void works_admit(void);
/* How many nothing keeps from starting; one of them, by number, to start it. */
uint32_t works_ready(void);
emu_work *work_take_ready(uint32_t number);

int work_compare(const emu_work *a, const emu_work *b);

#endif
