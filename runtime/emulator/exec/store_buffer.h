/* The memory model. One page; what it stands on is the PTX ISA, "Memory Consistency Model".
 *
 * A warp's stores wait in a buffer of 4-byte words until they are performed: written to memory,
 * where every thread of every device sees them. They are performed late and in any order.
 *
 *   rule here                                    rule of PTX it stands on
 *   -------------------------------------------- ------------------------------------------------
 *   a word is never torn; 16 bytes are four       "Vector data types": a vector access is modelled
 *   words in no order                             as scalar accesses with no order among them
 *   two words may be performed in any order,      relaxed and weak stores to different locations
 *   whoever stored them                           are not ordered by program order alone
 *                                                 (Causality order)
 *   two stores of a warp to one word are          Coherence axiom; SC-per-location: morally strong
 *   performed in order                            writes that overlap have one order
 *   a thread sees its own stores at once          SC-per-location (program order, read after write)
 *   sync_warp: afterwards the lanes of the warp   bar.warp.sync "guarantees memory ordering among
 *   see each other's earlier stores; nobody       participating threads"; others are not
 *   else does. A shuffle orders nothing           participants
 *   publish: everything that the lane stored or   st.release: Release pattern, cumulative over
 *   was shown by sync_warp is performed before    what was observed; the store itself may come late
 *   exchange: acts on memory, at once             Atomicity axiom
 *   the end of a grid performs all its stores     completion of a grid is ordered before its
 *                                                 dependents, griddepcontrol.wait included ("all
 *                                                 memory operations are performed and made
 *                                                 visible")
 *   a poll that spins sees a store in the end     forward progress; no rule says when
 *
 * What the emulated device cannot show:
 *
 *   not shown                 why, and what covers it
 *   ------------------------- -------------------------------------------------------------------
 *   loads out of order        loads are made in program order. A store that overtakes another
 *                             looks to a reader the same as a load that does, so for words that
 *                             carry their own validity nothing is lost; a protocol with flags
 *                             would need both
 *   observers that differ     all observers see a store at the same moment
 *   blocks without room       blocks start in ascending order on every device, and grids do not
 *                             compete for multiprocessors: a grid that is too large for its device
 *                             still ends. Unit tests check the limits, GPU tests reach them
 *   an over-eager watchdog    the clock moves only when nothing else can: a bound that is too short
 *                             for a slow peer never expires. GPU tests let a rank come late */
#ifndef LAMPAR_EMU_STORE_BUFFER_H
#define LAMPAR_EMU_STORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emu_pending_word {
  uintptr_t word; /* address, a multiple of 4 */
  uint32_t value;
  uint8_t bytes; /* bit i: byte i is stored */
  uint8_t lane;
} emu_pending_word;

typedef struct emu_store_buffer {
  emu_pending_word *entries; /* in the order of the stores */
  size_t count, capacity;
  size_t shown;       /* the first so many are visible to the whole warp */
  uint64_t filter[8]; /* no bit for an address: it is not in the buffer */
} emu_store_buffer;

/* 1 to 16 bytes, aligned to their size up to 4. */
void buffer_store(emu_store_buffer *buffer, unsigned lane, uintptr_t to, const void *value,
                  size_t bytes);
void buffer_load(const emu_store_buffer *buffer, unsigned lane, uintptr_t from, void *value,
                 size_t bytes);

/* sync_warp: all entries become visible to the warp. */
void buffer_show(emu_store_buffer *buffer);

/* Performs each entry with a chance of `eighths`/8, 8 for all, keeping the order of each word, and
 * calls `changed` for each word. True when something was performed. */
bool buffer_perform(emu_store_buffer *buffer, unsigned eighths, uint64_t *random,
                    void (*changed)(uintptr_t word));

/* Moves all entries of `from` behind those of `to`, visible to no lane. */
void buffer_hand_over(emu_store_buffer *to, emu_store_buffer *from);

void buffer_release(emu_store_buffer *buffer);

#endif
