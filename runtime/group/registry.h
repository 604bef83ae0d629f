/* The groups of this process. Creating a group again for the same ranks, with the same role and
 * config, returns the group that exists. */
#ifndef LAMPAR_REGISTRY_H
#define LAMPAR_REGISTRY_H

#include "group/group_state.h"

typedef enum lampar_registry_answer {
  LAMPAR_REGISTRY_NONE = 0,
  LAMPAR_REGISTRY_EQUAL = 1,
  LAMPAR_REGISTRY_DIFFERENT = 2, /* the same ranks and role, another config or other packs */
} lampar_registry_answer;

/* Looks for a group like this one. EQUAL: `*found` is that group and holds one more reference, so
 * that no other thread can free it. Else `*found` is NULL. */
lampar_registry_answer lampar_registry_find(const lampar_group *group, lampar_group **found);

/* Lists a group, with one reference. */
void lampar_registry_add(lampar_group *group);

/* Drops a reference; true when it was the last, and the group is no longer listed. */
bool lampar_registry_release(lampar_group *group);

/* A number that no other group of this process has; never 0. */
uint64_t lampar_registry_number(void);

#endif
