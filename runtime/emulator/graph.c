#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "memory.h"
#include "require.h"
#include "stream.h"

typedef struct node {
  task task;
  size_t *earlier;
  size_t count;
  bool is_leaf;
} node;

struct CUgraph_st {
  uint64_t id;
  int mode;
  int references;
  node *nodes;
  size_t count;
  uintptr_t *owned; /* allocated while it was captured */
  size_t owned_count;
};

/* What a graph was at its instantiation never changes: the executable graph is the graph, counted.
 */
struct CUgraphExec_st {
  struct CUgraph_st *graph;
};

struct CUgraph_st *graph_create(int mode) {
  static uint64_t last_id;
  struct CUgraph_st *created = require(calloc(1, sizeof *created));
  created->id = ++last_id;
  created->mode = mode;
  created->references = 1;
  return created;
}

void graph_release(struct CUgraph_st *graph) {
  if (--graph->references > 0) return;
  for (size_t i = 0; i < graph->owned_count; ++i) {
    stream_synchronize_device(memory_find(graph->owned[i], 1)->device);
    memory_give_back(graph->owned[i], MEMORY_DEVICE);
  }
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

size_t graph_add(struct CUgraph_st *graph, const task *task, const size_t *earlier, size_t count) {
  graph->nodes = require(realloc(graph->nodes, (graph->count + 1) * sizeof *graph->nodes));
  node *added = &graph->nodes[graph->count];
  *added = (node){.task = *task, .count = count, .is_leaf = true};
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

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **executable, struct CUgraph_st *graph,
                                unsigned long long flags) {
  (void)flags;
  machine_enter();
  *executable = require(calloc(1, sizeof **executable));
  (*executable)->graph = graph;
  ++graph->references;
  return machine_leave(CUDA_SUCCESS);
}

int cuGraphLaunch(struct CUgraphExec_st *executable, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  int result = stream_refuse_while_captured(stream);
  if (result == CUDA_SUCCESS) result = emu.devices[stream->device].error;
  if (result != CUDA_SUCCESS) return machine_leave(result);

  const struct CUgraph_st *graph = executable->graph;
  work **works = require(calloc(graph->count + 1, sizeof *works));
  work *end = work_create(&(task){.kind = WORK_NOTHING, .device = stream->device});
  for (size_t i = 0; i < graph->count; ++i) {
    const node *node = &graph->nodes[i];
    works[i] = work_create(&node->task);
    works[i]->key[0] = (uint64_t)stream->device;
    works[i]->key[1] = stream->index;
    works[i]->key[2] = ++stream->enqueued;
    if (node->count == 0) work_order(stream->last, works[i], false);
    for (size_t k = 0; k < node->count; ++k) {
      work *earlier = works[node->earlier[k]];
      work_order(earlier, works[i],
                 node->task.is_programmatic && node->count == 1 &&
                     earlier->task.kind == WORK_KERNEL);
    }
    if (node->is_leaf) work_order(works[i], end, false);
  }
  stream_append(stream, end);
  for (size_t i = 0; i < graph->count; ++i) {
    work_submit(works[i]);
    work_release(works[i]);
  }
  work_release(end);
  free(works);
  return machine_leave(CUDA_SUCCESS);
}

int cuGraphExecDestroy(struct CUgraphExec_st *executable) {
  machine_enter();
  graph_release(executable->graph);
  free(executable);
  return machine_leave(CUDA_SUCCESS);
}

int cuGraphDestroy(struct CUgraph_st *graph) {
  machine_enter();
  graph_release(graph);
  return machine_leave(CUDA_SUCCESS);
}
