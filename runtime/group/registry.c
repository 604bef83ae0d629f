#include "group/registry.h"

#include <pthread.h>
#include <string.h>

/* Per process by its nature: two communicators of the same ranks must find one workspace. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lampar_group *groups;

static lampar_group *find(const lampar_group *like) {
  for (lampar_group *g = groups; g != NULL; g = g->next)
    if (g->rank == like->rank && memcmp(g->identity, like->identity, sizeof g->identity) == 0)
      return g;
  return NULL;
}

static bool is_equal(const lampar_group *a, const lampar_group *b) {
  return memcmp(a->options, b->options, sizeof a->options) == 0 &&
         memcmp(a->facts[a->rank].packs, b->facts[b->rank].packs, sizeof b->facts[0].packs) == 0;
}

lampar_registry_answer lampar_registry_look(const lampar_group *group) {
  pthread_mutex_lock(&mutex);
  const lampar_group *found = find(group);
  pthread_mutex_unlock(&mutex);
  if (found == NULL) return LAMPAR_REGISTRY_NONE;
  return is_equal(found, group) ? LAMPAR_REGISTRY_EQUAL : LAMPAR_REGISTRY_DIFFERENT;
}

lampar_group *lampar_registry_acquire(const lampar_group *group) {
  pthread_mutex_lock(&mutex);
  lampar_group *found = find(group);
  if (found != NULL) ++found->references;
  pthread_mutex_unlock(&mutex);
  return found;
}

void lampar_registry_add(lampar_group *group) {
  pthread_mutex_lock(&mutex);
  group->references = 1;
  group->next = groups;
  groups = group;
  pthread_mutex_unlock(&mutex);
}

bool lampar_registry_drop(lampar_group *group) {
  pthread_mutex_lock(&mutex);
  const bool last = --group->references == 0;
  for (lampar_group **g = &groups; last && *g != NULL; g = &(*g)->next)
    if (*g == group) {
      *g = group->next;
      break;
    }
  pthread_mutex_unlock(&mutex);
  return last;
}
