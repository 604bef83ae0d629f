/* The collective half of a group's creation: every step ends with an exchange, after which all
 * ranks go the same way. */
#ifndef LAMPAR_SETUP_H
#define LAMPAR_SETUP_H

#include "group/group_state.h"

/* Facts of all ranks, and the verdict from them. `reuse` tells whether this rank has a group for
 * the same ranks already. */
lampar_status lampar_setup_exchange_facts(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count, bool *reuse);

/* Loads the kernels that apply an epilogue to a sum of NCCL's, whatever the verdict is. Errors:
 * those of the first rank that cannot, on all ranks: on some alone, a call would have a kernel on
 * one rank and none on another. */
lampar_status lampar_setup_alone(lampar_group *group, lampar_pack *const *packs, size_t pack_count);

/* Kernels, workspace, peers, self-test, each voted on. A failure on any rank becomes the verdict of
 * all. Errors: only those of the exchange itself. */
lampar_status lampar_setup_enable_kernels(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count);

/* Gives back what arm made; a barrier keeps memory until no rank reaches for it. */
lampar_status lampar_setup_disable_kernels(lampar_group *group);

#endif
