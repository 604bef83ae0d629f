#include "emulator/exec/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/errors.h"
#include "emulator/exec/module.h"
#include "emulator/exec/require.h"
#include "emulator/exec/running.h"

typedef struct emu_cluster {
  unsigned size; /* blocks */
  unsigned started, inside;
  unsigned arrived, phases;              /* at the cluster's barrier */
  emu_block *blocks[CLUSTER_BLOCKS_MAX]; /* NULL: it has not started, or has ended */
} emu_cluster;

/* A store that is under way. */
typedef struct emu_transfer {
  emu_block *to;
  size_t offset; /* in its shared memory */
  unsigned bytes, barrier;
  uint64_t value;
} emu_transfer;

static emu_transfer *transfers;
static size_t transfer_count, transfer_capacity;

/* ---- blocks ------------------------------------------------------------------------------ */

/* Shared memory holds anything at first: NaNs. */
void cluster_enter(emu_block *block) {
  const emu_task *task = &block->grid->work->task;
  const unsigned bytes = function_shared_bytes(task->kernel.function);
  if (block->index % task->kernel.cluster == 0) {
    block->grid->cluster = require(calloc(1, sizeof *block->grid->cluster));
    block->grid->cluster->size = task->kernel.cluster;
  }
  block->cluster = block->grid->cluster;
  block->cluster->blocks[block->cluster->started++] = block;
  ++block->cluster->inside;
  block->shared = require(malloc(bytes + 1));
  memset(block->shared, 0xff, bytes);
}

void cluster_leave(emu_block *block) {
  emu_cluster *left = block->cluster;
  size_t kept = 0;
  for (size_t i = 0; i < transfer_count; ++i)
    if (transfers[i].to != block) transfers[kept++] = transfers[i];
  transfer_count = kept;
  left->blocks[block->index % left->size] = NULL;
  /* A grid that failed is released before all of its blocks have started. */
  if (--left->inside == 0 &&
      (left->started == left->size || emu.devices[block->grid->work->task.device].error))
    free(left);
  free(block->shared);
}

void cluster_check_end(void) {
  const emu_warp *warp = running->warp;
  const emu_block *block = warp->block;
  if (warp->ended + 1 < warp->lane_count || block->ended + 1 < block->warp_count) return;
  for (size_t i = 0; i < transfer_count; ++i)
    if (transfers[i].to == block)
      lane_fail(CUDA_ERROR_LAUNCH_FAILED,
                "its block ends while a store into its shared memory is under way");
}

/* ---- shared memory ----------------------------------------------------------------------- */

static void wake(emu_block *block, emu_lane_state state) {
  for (unsigned w = 0; w < block->warp_count; ++w)
    for (unsigned i = 0; i < block->warps[w].lane_count; ++i)
      if (block->warps[w].lanes[i].state == state) lane_make_runnable(&block->warps[w].lanes[i]);
}

static void end_phase_if_complete(emu_block *block, emu_partials_barrier *barrier) {
  if (barrier->missing > 0 || barrier->bytes != 0) return;
  barrier->missing = barrier->arrivals;
  ++barrier->phases;
  wake(block, LANE_AWAITS_PARTIALS);
}

bool cluster_deliver(void) {
  if (transfer_count == 0) return false;
  const uint32_t chosen = emu_below((uint32_t)transfer_count);
  const emu_transfer delivered = transfers[chosen];
  transfers[chosen] = transfers[--transfer_count];
  memcpy(delivered.to->shared + delivered.offset, &delivered.value, delivered.bytes);
  emu_partials_barrier *barrier = &delivered.to->partials[delivered.barrier];
  barrier->bytes -= delivered.bytes;
  end_phase_if_complete(delivered.to, barrier);
  return true;
}

static void send(unsigned to, void *at, const void *value, unsigned bytes, unsigned barrier) {
  lane_may_switch();
  const emu_block *block = running->warp->block;
  emu_cluster *cluster = block->cluster;
  emu_transfer sent = {
      .offset = (size_t)((char *)at - block->shared), .bytes = bytes, .barrier = barrier};
  if (to >= cluster->size || bytes > sizeof sent.value ||
      sent.offset + bytes > function_shared_bytes(block->grid->work->task.kernel.function))
    lane_fail(CUDA_ERROR_ILLEGAL_ADDRESS, "stores outside the shared memory of its cluster");
  sent.to = cluster->blocks[to];
  if (sent.to == NULL || sent.to->partials[barrier].arrivals == 0)
    lane_fail(CUDA_ERROR_LAUNCH_FAILED,
              "stores into the shared memory of block %u of its cluster, which has %s", to,
              to >= cluster->started ? "not started"
              : sent.to == NULL      ? "ended"
                                     : "not made its barrier yet");
  memcpy(&sent.value, value, bytes);
  if (transfer_count == transfer_capacity) {
    transfer_capacity = transfer_capacity ? 2 * transfer_capacity : 256;
    transfers = require(realloc(transfers, transfer_capacity * sizeof *transfers));
  }
  transfers[transfer_count++] = sent;
}

/* ---- barriers ---------------------------------------------------------------------------- */

static void make_barrier(unsigned barrier, unsigned arrivals) {
  lane_may_switch();
  running->warp->block->partials[barrier] =
      (emu_partials_barrier){.arrivals = arrivals, .missing = arrivals};
}

static void arrive(unsigned index, unsigned bytes) {
  lane_may_switch();
  emu_partials_barrier *barrier = &running->warp->block->partials[index];
  if (barrier->missing == 0)
    lane_fail(CUDA_ERROR_LAUNCH_FAILED, "arrives at barrier %u of its block, where all are", index);
  --barrier->missing;
  barrier->bytes += bytes;
  end_phase_if_complete(running->warp->block, barrier);
}

static void wait_parity(unsigned index, unsigned parity) {
  lane_may_switch();
  emu_lane *lane = running;
  const emu_partials_barrier *barrier = &lane->warp->block->partials[index];
  lane->awaited = index;
  while (barrier->phases % 2 == parity) lane_leave(LANE_AWAITS_PARTIALS);
}

static void arrive_cluster(void) {
  lane_may_switch();
  emu_cluster *cluster = running->warp->block->cluster;
  running->cluster_phase = cluster->phases;
  if (++cluster->arrived < cluster->size * running->warp->block->grid->work->task.kernel.threads)
    return;
  cluster->arrived = 0;
  ++cluster->phases;
  for (unsigned i = 0; i < cluster->size; ++i)
    if (cluster->blocks[i] != NULL) wake(cluster->blocks[i], LANE_AT_CLUSTER_BARRIER);
}

static void wait_cluster(void) {
  lane_may_switch();
  emu_lane *lane = running;
  while (lane->warp->block->cluster->phases == lane->cluster_phase)
    lane_leave(LANE_AT_CLUSTER_BARRIER);
}

static bool has_ended_lanes(const emu_block *block) {
  for (unsigned w = 0; w < block->warp_count; ++w)
    if (block->warps[w].ended > 0) return true;
  return false;
}

static void sync_block(void) {
  lane_may_switch();
  emu_block *block = running->warp->block;
  if (has_ended_lanes(block))
    lane_fail(CUDA_ERROR_LAUNCH_FAILED,
              "waits at barrier %u of its block for a lane that has ended", block->barriers_passed);
  if (++block->at_barrier < block->grid->work->task.kernel.threads) {
    lane_leave(LANE_AT_BLOCK_BARRIER);
    return;
  }
  block->at_barrier = 0;
  ++block->barriers_passed;
  wake(block, LANE_AT_BLOCK_BARRIER);
}

/* The two barriers of a block take turns, a round each. */
void cluster_describe(const emu_lane *lane, char *text, size_t size) {
  const emu_block *block = lane->warp->block;
  const unsigned threads = block->grid->work->task.kernel.threads;
  switch (lane->state) {
  case LANE_AT_BLOCK_BARRIER:
    snprintf(text, size, "waits in round %u at the block's barrier, where %u of %u lanes are",
             block->barriers_passed, block->at_barrier, threads);
    break;
  case LANE_AT_CLUSTER_BARRIER:
    snprintf(text, size,
             "waits for its cluster: %u of %u blocks have started, %u of %u lanes are here",
             block->cluster->started, block->cluster->size, block->cluster->arrived,
             block->cluster->size * threads);
    break;
  default: {
    const emu_partials_barrier *barrier = &block->partials[lane->awaited];
    snprintf(text, size,
             "waits for the partials of phase %u: %u arrivals and %" PRId64 " bytes are missing",
             barrier->phases * PARTIALS_BARRIERS + lane->awaited, barrier->missing, barrier->bytes);
  }
  }
}

void cluster_calls_install(kernel_interface *interface) {
  interface->sync_block = sync_block;
  interface->arrive_cluster = arrive_cluster;
  interface->wait_cluster = wait_cluster;
  interface->make_barrier = make_barrier;
  interface->arrive = arrive;
  interface->wait_parity = wait_parity;
  interface->send = send;
}
