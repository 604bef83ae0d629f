/* Who waits for what, when nothing can run any more. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "library.h"
#include "machine.h"
#include "pack/arguments.h"
#include "scheduler.h"

enum { LINES_MAX = 8 };

void report_seed(void) {
  char command[512];
  FILE *file = fopen("/proc/self/cmdline", "r");
  const size_t length = file ? fread(command, 1, sizeof command - 1, file) : 0;
  if (file) fclose(file);
  for (size_t i = 0; i + 1 < length; ++i)
    if (command[i] == '\0') command[i] = ' ';
  command[length] = '\0';
  fprintf(stderr, "lampar-emu: again with: LAMPAR_EMU_SEED=%" PRIu64 " LAMPAR_DEVICE=emu %s\n",
          emu.seed, command);
}

/* What a polled address is, by the arguments that every lampar kernel has. */
static void describe_mailboxes(const warp *warp, const lane *lane) {
  const lampar_arguments *arguments =
      (const lampar_arguments *)warp->block->grid->work->task.kernel.parameters;
  const char *name = function_name(warp->block->grid->work->task.kernel.function);
  const char *ranks = strstr(name, "_w"); /* "ar_oneshot_w8_..." */
  const uintptr_t own = (uintptr_t)arguments->own;
  const size_t world = ranks != NULL ? strtoul(ranks + 2, NULL, 10) : 1;
  /* "..._twoshot_...": the second exchange has mailboxes of its own, behind those of the first. */
  const size_t mailboxes = arguments->mailboxes * (strstr(name, "_twoshot") != NULL ? 2 : 1);
  fprintf(stderr, "rank %u polls", arguments->rank);
  uintptr_t mailbox = 0;
  for (unsigned i = 0; i < lane->watched; ++i) {
    const uintptr_t offset = lane->watches[i].vector * 16 - own;
    const uintptr_t slot = offset / LAMPAR_MAILBOX_BYTES;
    mailbox = slot / world / 2;
    if (lane->watches[i].vector * 16 < own || mailbox >= mailboxes) {
      fprintf(stderr, "%s %#" PRIxPTR, i ? "," : "", lane->watches[i].vector * 16);
      mailbox = mailboxes;
      continue;
    }
    if (i == 0)
      fprintf(stderr, " mailbox %" PRIuPTR " half %" PRIuPTR ", nothing from rank", mailbox,
              slot / world % 2);
    fprintf(stderr, " %" PRIuPTR, slot % world);
  }
  if (mailbox < mailboxes) fprintf(stderr, "; epoch now %" PRIu32, arguments->epoch[mailbox]);
}

/* How far from the cause a lane may be: each waits for lanes of a lesser depth. */
static unsigned depth_of(lane_state state) {
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

/* The lane that says most about why its warp stands still; NULL: all have ended. */
static const lane *speaker_of(const warp *warp) {
  const lane *speaker = NULL;
  for (unsigned i = 0; i < warp->lane_count; ++i) {
    const lane *lane = &warp->lanes[i];
    if (lane->state == LANE_ENDED) continue;
    if (!speaker || depth_of(lane->state) < depth_of(speaker->state)) speaker = lane;
  }
  return speaker;
}

static void report_lane(const lane *lane) {
  const warp *warp = lane->warp;
  const task *task = &warp->block->grid->work->task;
  fprintf(stderr, "lampar-emu:   device %d, %s, block %u, warp %u, lane %u: ", task->device,
          function_name(task->kernel.function), warp->block->index, warp->index, lane->index);
  switch (lane->state) {
  case LANE_POLLS: describe_mailboxes(warp, lane); break;
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
  for (const grid *grid = scheduler_grids(); grid; grid = grid->next)
    for (const block *block = grid->blocks; block; block = block->next)
      for (unsigned w = 0; w < block->warp_count; ++w) {
        const lane *speaker = speaker_of(&block->warps[w]);
        if (!speaker || depth_of(speaker->state) != depth) continue;
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
  for (const work *work = scheduler_collectives(); work; work = work->next) {
    char text[256];
    collective_describe(work, text, sizeof text);
    fprintf(stderr, "lampar-emu:   device %d, %s\n", work->task.device, text);
  }
  report_seed();
}
