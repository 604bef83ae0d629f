#include "emulator/host/graph.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/exec/memory.h"
#include "emulator/exec/require.h"

struct CUgraph_st {
  uint64_t id;
  int mode;
  int references;
  emu_node *nodes;
  size_t count;
  uintptr_t *owned; /* allocated while it was captured */
  size_t owned_count;
};

struct CUgraph_st *graph_create(int mode) {
  static uint64_t last_id;
  struct CUgraph_st *created = require(calloc(1, sizeof *created));
  created->id = ++last_id;
  created->mode = mode;
  created->references = 1;
  return created;
}

void graph_retain(struct CUgraph_st *graph) {
  ++graph->references;
}

const uintptr_t *graph_memory_to_free(const struct CUgraph_st *graph, size_t *count) {
  *count = graph->references == 1 ? graph->owned_count : 0;
  return graph->owned;
}

void graph_release(struct CUgraph_st *graph) {
  if (--graph->references > 0) return;
  for (size_t i = 0; i < graph->owned_count; ++i) memory_release(graph->owned[i], MEMORY_DEVICE);
  free(graph->owned);
  for (size_t i = 0; i < graph->count; ++i) free(graph->nodes[i].earlier);
  free(graph->nodes);
  free(graph);
}

uint64_t graph_id(const struct CUgraph_st *graph) {
  return graph->id;
}

int graph_mode(const struct CUgraph_st *graph) {
  return graph->mode;
}

const emu_node *graph_nodes(const struct CUgraph_st *graph, size_t *count) {
  *count = graph->count;
  return graph->nodes;
}

size_t graph_add(struct CUgraph_st *graph, const emu_task *task, const size_t *earlier,
                 size_t count) {
  graph->nodes = require(realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes));
  emu_node *added = &graph->nodes[graph->count];
  *added = (emu_node){.task = *task, .count = count, .is_leaf = true};
  if (count > 0) {
    added->earlier = require(malloc(count * sizeof *earlier));
    memcpy(added->earlier, earlier, count * sizeof *earlier);
  }
  for (size_t i = 0; i < count; ++i) graph->nodes[earlier[i]].is_leaf = false;
  return graph->count++;
}

void graph_own(struct CUgraph_st *graph, uintptr_t memory) {
  graph->owned = require(realloc(graph->owned, (graph->owned_count + 1) * sizeof *graph->owned));
  graph->owned[graph->owned_count++] = memory;
}

bool graph_owns(const struct CUgraph_st *graph, uintptr_t memory) {
  for (size_t i = 0; i < graph->owned_count; ++i)
    if (graph->owned[i] == memory) return true;
  return false;
}

bool graph_precedes(const struct CUgraph_st *graph, size_t node, const size_t *later,
                    size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (later[i] == node ||
        graph_precedes(graph, node, graph->nodes[later[i]].earlier, graph->nodes[later[i]].count))
      return true;
  return false;
}
