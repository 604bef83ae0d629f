#include "emulator/exec/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/exec/cluster.h"
#include "emulator/exec/collective.h"
#include "emulator/exec/grid.h"
#include "emulator/exec/module.h"
#include "emulator/exec/scheduler.h"
#include "emulator/exec/seed.h"
#include "pack/arguments.h"

enum { LINES_MAX = 8 };

/* Prints the slots of a mailbox that a lane polls. */
static void describe_slots(const emu_lane *lane, uintptr_t mailbox, size_t world) {
  for (unsigned i = 0; i < lane->watched; ++i) {
    const uintptr_t slot = (lane->watches[i].vector * 16 - mailbox) / LAMPAR_MAILBOX_BYTES;
    if (i == 0) fprintf(stderr, " half %" PRIuPTR ", nothing from rank", slot / world);
    fprintf(stderr, " %" PRIuPTR, slot % world);
  }
}

/* What a polled address is, by the arguments that every lampar kernel has. */
static void describe_mailbox(const emu_warp *warp, const emu_lane *lane) {
  const lampar_arguments *arguments =
      (const lampar_arguments *)warp->block->grid->work->task.kernel.parameters;
  const char *name = function_name(warp->block->grid->work->task.kernel.function);
  const char *ranks = strstr(name, "_w"); /* "ar_oneshot_w8_..." */
  const uintptr_t own = (uintptr_t)arguments->own, polled = lane->watches[0].vector * 16;
  const size_t world = ranks != NULL ? strtoul(ranks + 2, NULL, 10) : 1;
  const size_t mailbox_bytes = 2 * world * LAMPAR_MAILBOX_BYTES;
  const uintptr_t mailbox = (polled - own) / mailbox_bytes;
  if (polled < own || mailbox >= arguments->mailboxes) {
    fprintf(stderr, "rank %u polls %#" PRIxPTR, arguments->rank, polled);
    return;
  }
  fprintf(stderr, "rank %u polls mailbox %" PRIuPTR, arguments->rank, mailbox);
  describe_slots(lane, own + mailbox * mailbox_bytes, world);
  fprintf(stderr, "; epoch now %" PRIu32, arguments->epoch[mailbox]);
}

/* How far from the cause a lane may be: each waits for lanes of a lesser depth. */
static unsigned depth_of(emu_lane_state state) {
  switch (state) {
  case LANE_POLLS: return 0;
  case LANE_AWAITS_PARTIALS:
  case LANE_AT_BLOCK_BARRIER:
  case LANE_AT_CLUSTER_BARRIER: return 1;
  case LANE_AT_MEETING: return 2;
  case LANE_AWAITS_GRID: return 3;
  default: return 4;
  }
}

enum { DEPTHS = 5 };

/* The lane nearest to the reason why its warp stands still; NULL: all have ended. */
static const emu_lane *speaker_of(const emu_warp *warp) {
  const emu_lane *speaker = NULL;
  for (unsigned i = 0; i < warp->lane_count; ++i) {
    const emu_lane *lane = &warp->lanes[i];
    if (lane->state == LANE_ENDED) continue;
    if (speaker == NULL || depth_of(lane->state) < depth_of(speaker->state)) speaker = lane;
  }
  return speaker;
}

static void report_lane(const emu_lane *lane) {
  const emu_warp *warp = lane->warp;
  const emu_task *task = &warp->block->grid->work->task;
  fprintf(stderr, "lampar-emu:   device %d, %s, block %u, warp %u, lane %u: ", task->device,
          function_name(task->kernel.function), warp->block->index, warp->index, lane->index);
  switch (lane->state) {
  case LANE_POLLS: describe_mailbox(warp, lane); break;
  case LANE_AT_MEETING:
    fprintf(stderr, "waits at a %s for lanes of its warp",
            warp->meeting == MEETING_BARRIER ? "warp barrier" : "shuffle");
    break;
  case LANE_AT_BLOCK_BARRIER:
  case LANE_AT_CLUSTER_BARRIER:
  case LANE_AWAITS_PARTIALS: {
    char text[160];
    cluster_describe(lane, text, sizeof text);
    fputs(text, stderr);
    break;
  }
  case LANE_AWAITS_GRID: fputs("waits for the previous grid", stderr); break;
  default: fputs("can run", stderr); break;
  }
  fputc('\n', stderr);
}

static void report_warps(unsigned depth, unsigned *lines, unsigned *left_out) {
  for (const emu_grid *grid = grids_first(); grid != NULL; grid = grid->next)
    for (const emu_block *block = grid->blocks; block != NULL; block = block->next)
      for (unsigned w = 0; w < block->warp_count; ++w) {
        const emu_lane *speaker = speaker_of(&block->warps[w]);
        if (speaker == NULL || depth_of(speaker->state) != depth) continue;
        if (*lines < LINES_MAX) {
          report_lane(speaker);
          ++*lines;
        } else {
          ++*left_out;
        }
      }
}

void report_deadlock(bool is_final) {
  fprintf(stderr, is_final
                      ? "lampar-emu: no progress is possible:\n"
                      : "lampar-emu: nothing can run; the clock moves on to end bounded waits:\n");
  unsigned lines = 0, left_out = 0;
  for (unsigned depth = 0; depth < DEPTHS; ++depth) report_warps(depth, &lines, &left_out);
  if (left_out > 0) fprintf(stderr, "lampar-emu:   and %u warps more\n", left_out);
  for (const emu_work *work = scheduler_collectives(); work != NULL; work = work->next) {
    char text[256];
    collective_describe(work, text, sizeof text);
    fprintf(stderr, "lampar-emu:   device %d, %s\n", work->task.device, text);
  }
  report_seed();
}
