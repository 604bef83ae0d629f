#include "work.h"

#include <stdlib.h>

#include "machine.h"
#include "memory.h"
#include "require.h"

work *work_create(const task *task) {
  work *created = require(calloc(1, sizeof *created));
  created->task = *task;
  created->references = 1;
  created->blocked = 1; /* until it is submitted */
  created->incomplete = 1;
  return created;
}

work *work_keep(work *kept) {
  if (kept) ++kept->references;
  return kept;
}

void work_release(work *released) {
  if (!released || --released->references > 0) return;
  work_release(released->previous);
  free(released->edges);
  free(released->staged);
  free(released);
}

void work_order(work *earlier, work *later, bool is_programmatic) {
  if (!earlier || earlier->is_done) return;
  if (earlier->edge_count == earlier->edge_capacity) {
    earlier->edge_capacity = earlier->edge_capacity ? 2 * earlier->edge_capacity : 2;
    earlier->edges =
        require(realloc(earlier->edges, earlier->edge_capacity * sizeof *earlier->edges));
  }
  earlier->edges[earlier->edge_count++] = (edge){later, is_programmatic};
  ++later->incomplete;
  if (is_programmatic) later->previous = work_keep(earlier);
  if (!is_programmatic || !(earlier->has_triggered || earlier->has_finished)) ++later->blocked;
}

static void unblock(work *blocked) {
  if (--blocked->blocked == 0) work_is_ready(blocked);
}

static void complete(work *completed) {
  if (--completed->incomplete > 0) return;
  completed->is_done = true;
  completed->ended_at = emu.steps;
  for (size_t i = 0; i < completed->edge_count; ++i) {
    const edge edge = completed->edges[i];
    if (!edge.is_programmatic) unblock(edge.to);
    complete(edge.to);
  }
  completed->edge_count = 0;
  work_release(completed->previous);
  completed->previous = NULL;
  work_release(completed); /* the machine's */
}

void work_submit(work *submitted) {
  work_keep(submitted);
  submitted->next = emu.arrived;
  emu.arrived = submitted;
}

void work_trigger(work *triggered) {
  if (triggered->has_triggered) return;
  triggered->has_triggered = true;
  for (size_t i = 0; i < triggered->edge_count; ++i)
    if (triggered->edges[i].is_programmatic) unblock(triggered->edges[i].to);
}

void work_finish(work *finished) {
  work_trigger(finished);
  finished->has_finished = true;
  for (size_t i = 0; i < finished->edge_count; ++i) {
    work *next = finished->edges[i].to;
    if (finished->edges[i].is_programmatic && next->grid) grid_previous_finished(next->grid);
  }
  complete(finished);
}

int work_compare(const work *a, const work *b) {
  for (int i = 0; i < 3; ++i)
    if (a->key[i] != b->key[i]) return a->key[i] < b->key[i] ? -1 : 1;
  return 0;
}
