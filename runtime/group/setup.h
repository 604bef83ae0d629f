/* The collective half of creating a group. Every step ends with an exchange, after which all ranks
 * go the same way: a rank that fails takes part in the exchange and sends its message. */
#ifndef LAMPAR_SETUP_H
#define LAMPAR_SETUP_H

#include "group/group_state.h"

enum { LAMPAR_PACKS_MAX = 16, LAMPAR_LANES_MAX = 64 };

/* The first exchange: how this rank started (`own`, with its message), then every rank's facts and
 * the verdict from them. Errors: those of the first rank that failed, on all ranks; those of the
 * exchange. */
lampar_status lampar_setup_exchange_facts(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count, lampar_status own);

/* Finds the group that all ranks have already; NULL: some rank has none, and a new one is needed.
 * `*unused` is a group that only this rank found: destroy it to drop the reference. Errors:
 * ARGUMENT, on all ranks, when some rank has one with another config or other packs. */
lampar_status lampar_setup_find_existing(lampar_group *group, lampar_group **existing,
                                         lampar_group **unused);

/* Who can access whose memory, and the verdict from it. */
lampar_status lampar_setup_exchange_peer_access(lampar_group *group);

/* Loads the kernels that apply an epilogue to NCCL's sum, whatever the verdict is. Errors: those of
 * the first rank that fails, on all ranks: otherwise a call would have a kernel on one rank and
 * none on another. */
lampar_status lampar_setup_load_epilogues(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count);

/* Kernels, workspace, peers and self-test, with a vote after each. A failure on any rank becomes
 * the verdict of all. Errors: only those of the exchange itself. */
lampar_status lampar_setup_enable_kernels(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count);

/* Undoes enable_kernels. A barrier keeps the memory alive until no peer can access it. */
lampar_status lampar_setup_disable_kernels(lampar_group *group);

#endif
