#include "group/registry.h"

#include <pthread.h>
#include <string.h>

/* Process-wide on purpose: communicators with the same ranks share a workspace. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static lampar_group *groups;
static uint64_t numbers;

/* Roles have statistics of their own, and so a group of their own. */
static bool has_same_ranks(const lampar_group *a, const lampar_group *b) {
  return a->rank == b->rank && a->config.role == b->config.role &&
         memcmp(a->identity, b->identity, sizeof a->identity) == 0;
}

static bool is_equal(const lampar_group *a, const lampar_group *b) {
  return memcmp(a->options, b->options, sizeof a->options) == 0 &&
         memcmp(a->facts[a->rank].packs, b->facts[b->rank].packs, sizeof b->facts[0].packs) == 0;
}

lampar_registry_answer lampar_registry_find(const lampar_group *group, lampar_group **found) {
  lampar_registry_answer answer = LAMPAR_REGISTRY_NONE;
  *found = NULL;
  pthread_mutex_lock(&mutex);
  for (lampar_group *g = groups; g != NULL && *found == NULL; g = g->next) {
    if (!has_same_ranks(g, group)) continue;
    answer = is_equal(g, group) ? LAMPAR_REGISTRY_EQUAL : LAMPAR_REGISTRY_DIFFERENT;
    if (answer == LAMPAR_REGISTRY_EQUAL) *found = g;
  }
  if (*found != NULL) ++(*found)->references;
  pthread_mutex_unlock(&mutex);
  return answer;
}

void lampar_registry_add(lampar_group *group) {
  pthread_mutex_lock(&mutex);
  group->references = 1;
  group->next = groups;
  groups = group;
  pthread_mutex_unlock(&mutex);
}

bool lampar_registry_release(lampar_group *group) {
  pthread_mutex_lock(&mutex);
  const bool is_last = --group->references == 0;
  for (lampar_group **g = &groups; is_last && *g != NULL; g = &(*g)->next)
    if (*g == group) {
      *g = group->next;
      break;
    }
  pthread_mutex_unlock(&mutex);
  return is_last;
}

uint64_t lampar_registry_number(void) {
  pthread_mutex_lock(&mutex);
  const uint64_t number = ++numbers;
  pthread_mutex_unlock(&mutex);
  return number;
}
