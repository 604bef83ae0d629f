/* What the lanes of a block and of a cluster have in common: shared memory, the stores that cross
 * from one block's to another's, and the barriers at which they wait for each other.
 *
 *   rule here                                      rule of PTX it stands on
 *   ---------------------------------------------- ----------------------------------------------
 *   a cluster has room for all its blocks before    "Thread Block Clusters": its blocks are
 *   one starts, but they start one by one           scheduled together; no rule says when each runs
 *   send: late, in any order, into a block that     st.async is asynchronous; the memory and the
 *   runs and has made its barrier                   mbarrier have to exist when it is performed
 *   a phase is over when arrivals and bytes have    mbarrier: pending count and tx-count are zero
 *   come
 *   a block must not end while others send to it    distributed shared memory lives as long as its
 *                                                   block
 *   barriers order shared memory only: warps of a   less than PTX promises, where they order all
 *   block do not see each other's global stores     memory of those that meet; no kernel uses that
 */
#ifndef LAMPAR_EMU_CLUSTER_H
#define LAMPAR_EMU_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "emulator/exec/hierarchy.h"
#include "emulator/exec/kernel_interface.h"

/* When a block starts, and when it is released. */
void cluster_enter(emu_block *block);
void cluster_leave(emu_block *block);

/* By a lane that has come to its end: nobody may still send to its block if it was the last. */
void cluster_check_end(void);

/* Performs one store that is under way, any of them; false: there is none. */
bool cluster_deliver(void);

/* "waits for round 1: ...", for a lane that waits here. */
void cluster_describe(const emu_lane *lane, char *text, size_t size);

void cluster_calls_install(kernel_interface *interface);

#endif
