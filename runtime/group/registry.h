/* The groups of this process: asking twice for the same ranks gives the same group. */
#ifndef LAMPAR_REGISTRY_H
#define LAMPAR_REGISTRY_H

#include "group/group_state.h"

typedef enum lampar_registry_answer {
  LAMPAR_REGISTRY_NONE = 0,
  LAMPAR_REGISTRY_EQUAL = 1,
  LAMPAR_REGISTRY_DIFFERENT = 2, /* the same ranks, another config or other packs */
} lampar_registry_answer;

/* By identity, rank, options and packs of `group`. */
lampar_registry_answer lampar_registry_look(const lampar_group *group);

/* The group that is equal to `group`, counted once more. */
lampar_group *lampar_registry_acquire(const lampar_group *group);

void lampar_registry_add(lampar_group *group);

/* Counts down; true when it was the last and the group is no longer listed. */
bool lampar_registry_drop(lampar_group *group);

#endif
