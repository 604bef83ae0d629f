#include "emulator/exec/work.h"

#include <stdlib.h>

#include "emulator/exec/devices.h"
#include "emulator/exec/require.h"

static emu_work *arrived; /* enqueued since the devices last ran */
static emu_work *ready;   /* sorted, so that the choice among them depends on the seed only */

emu_work *work_create(const emu_task *task) {
  emu_work *created = require(calloc(1, sizeof *created));
  created->task = *task;
  created->references = 1;
  created->blocked = 1; /* until it is submitted */
  created->incomplete = 1;
  return created;
}

emu_work *work_retain(emu_work *kept) {
  if (kept != NULL) ++kept->references;
  return kept;
}

void work_release(emu_work *released) {
  if (released == NULL || --released->references > 0) return;
  work_release(released->previous);
  free(released->edges);
  free(released->staged);
  free(released);
}

void work_order(emu_work *earlier, emu_work *later, bool is_programmatic) {
  if (earlier == NULL || earlier->is_done) return;
  if (earlier->edge_count == earlier->edge_capacity) {
    earlier->edge_capacity = earlier->edge_capacity ? 2 * earlier->edge_capacity : 2;
    earlier->edges =
        require(realloc(earlier->edges, earlier->edge_capacity * sizeof *earlier->edges));
  }
  earlier->edges[earlier->edge_count++] = (emu_edge){later, is_programmatic};
  ++later->incomplete;
  if (is_programmatic) later->previous = work_retain(earlier);
  if (!is_programmatic || !(earlier->has_triggered || earlier->has_finished)) ++later->blocked;
}

int work_compare(const emu_work *a, const emu_work *b) {
  for (int i = 0; i < 3; ++i)
    if (a->key[i] != b->key[i]) return a->key[i] < b->key[i] ? -1 : 1;
  return 0;
}

static void insert_ready(emu_work *now_ready) {
  emu_work **link = &ready;
  while (*link != NULL && work_compare(*link, now_ready) < 0) link = &(*link)->next;
  now_ready->next = *link;
  *link = now_ready;
}

static void unblock(emu_work *blocked) {
  if (--blocked->blocked == 0) insert_ready(blocked);
}

static void complete(emu_work *completed) {
  if (--completed->incomplete > 0) return;
  completed->is_done = true;
  completed->ended_at = emu.steps;
  for (size_t i = 0; i < completed->edge_count; ++i) {
    const emu_edge edge = completed->edges[i];
    if (!edge.is_programmatic) unblock(edge.to);
    complete(edge.to);
  }
  completed->edge_count = 0;
  work_release(completed->previous);
  completed->previous = NULL;
  work_release(completed); /* the machine's */
}

void work_submit(emu_work *submitted) {
  work_retain(submitted);
  submitted->next = arrived;
  arrived = submitted;
}

void work_trigger(emu_work *triggered) {
  if (triggered->has_triggered) return;
  triggered->has_triggered = true;
  for (size_t i = 0; i < triggered->edge_count; ++i)
    if (triggered->edges[i].is_programmatic) unblock(triggered->edges[i].to);
}

void work_finish(emu_work *finished) {
  work_trigger(finished);
  finished->has_finished = true;
  complete(finished);
}

bool works_have_arrived(void) {
  return arrived != NULL;
}

void works_admit(void) {
  emu_work *sorted = NULL;
  while (arrived != NULL) {
    emu_work *taken = arrived;
    arrived = taken->next;
    emu_work **link = &sorted;
    while (*link != NULL && work_compare(*link, taken) < 0) link = &(*link)->next;
    taken->next = *link;
    *link = taken;
  }
  while (sorted != NULL) {
    emu_work *taken = sorted;
    sorted = taken->next;
    if (--taken->blocked == 0) insert_ready(taken);
  }
}

uint32_t works_ready(void) {
  uint32_t count = 0;
  for (const emu_work *work = ready; work != NULL; work = work->next) ++count;
  return count;
}

emu_work *work_take_ready(uint32_t number) {
  emu_work **link = &ready;
  for (; number > 0; --number) link = &(*link)->next;
  emu_work *chosen = *link;
  *link = chosen->next;
  return chosen;
}
