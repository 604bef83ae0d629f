/* Executable graphs, and their launches. */
#include <stdlib.h>

#include "emulator/exec/memory.h"
#include "emulator/exec/require.h"
#include "emulator/host/graph.h"
#include "emulator/host/machine.h"
#include "emulator/host/stream.h"

/* What a graph was at its instantiation never changes: the executable graph is the graph, counted.
 */
struct CUgraphExec_st {
  struct CUgraph_st *graph;
};

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **executable, struct CUgraph_st *graph,
                                unsigned long long flags) {
  (void)flags;
  machine_enter();
  *executable = require(calloc(1, sizeof **executable));
  (*executable)->graph = graph;
  graph_retain(graph);
  return machine_leave(CUDA_SUCCESS);
}

int cuGraphLaunch(struct CUgraphExec_st *executable, struct CUstream_st *stream) {
  machine_enter();
  stream = stream_or_default(stream);
  int result = stream_refuse_while_captured(stream);
  if (result == CUDA_SUCCESS) result = emu.devices[stream->device].error;
  if (result != CUDA_SUCCESS) return machine_leave(result);

  size_t count;
  const emu_node *nodes = graph_nodes(executable->graph, &count);
  emu_work **works = require(calloc(count + 1, sizeof *works));
  emu_work *end = work_create(&(emu_task){.kind = WORK_NOTHING, .device = stream->device});
  for (size_t i = 0; i < count; ++i) {
    const emu_node *node = &nodes[i];
    works[i] = work_create(&node->task);
    works[i]->key[0] = (uint64_t)stream->device;
    works[i]->key[1] = stream->index;
    works[i]->key[2] = ++stream->enqueued;
    if (node->count == 0) work_order(stream->last, works[i], false);
    for (size_t k = 0; k < node->count; ++k) {
      emu_work *earlier = works[node->earlier[k]];
      work_order(earlier, works[i],
                 node->task.is_programmatic && node->count == 1 &&
                     earlier->task.kind == WORK_KERNEL);
    }
    if (node->is_leaf) work_order(works[i], end, false);
  }
  stream_append(stream, end);
  for (size_t i = 0; i < count; ++i) {
    work_submit(works[i]);
    work_release(works[i]);
  }
  work_release(end);
  free(works);
  return machine_leave(CUDA_SUCCESS);
}

static void release(struct CUgraph_st *graph) {
  size_t count;
  const uintptr_t *memory = graph_memory_to_free(graph, &count);
  for (size_t i = 0; i < count; ++i) stream_synchronize_device(memory_find(memory[i], 1)->device);
  graph_release(graph);
}

int cuGraphExecDestroy(struct CUgraphExec_st *executable) {
  machine_enter();
  release(executable->graph);
  free(executable);
  return machine_leave(CUDA_SUCCESS);
}

int cuGraphDestroy(struct CUgraph_st *graph) {
  machine_enter();
  release(graph);
  return machine_leave(CUDA_SUCCESS);
}
