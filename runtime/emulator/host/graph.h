/* Captured works: nodes, each after those it waits for. */
#ifndef LAMPAR_EMU_GRAPH_H
#define LAMPAR_EMU_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/exec/work.h"

struct CUgraph_st;

typedef struct emu_node {
  emu_task task;
  size_t *earlier;
  size_t count;
  bool is_leaf;
} emu_node;

struct CUgraph_st *graph_create(int mode);
void graph_retain(struct CUgraph_st *graph);
void graph_release(struct CUgraph_st *graph);
/* What the next graph_release frees: no work that is under way may use it then. */
const uintptr_t *graph_memory_to_free(const struct CUgraph_st *graph, size_t *count);
uint64_t graph_id(const struct CUgraph_st *graph);
int graph_mode(const struct CUgraph_st *graph);

const emu_node *graph_nodes(const struct CUgraph_st *graph, size_t *count);
/* Returns the new node's number. */
size_t graph_add(struct CUgraph_st *graph, const emu_task *task, const size_t *earlier,
                 size_t count);

/* Device memory that is given back with the graph. */
void graph_own(struct CUgraph_st *graph, uintptr_t memory);
bool graph_owns(const struct CUgraph_st *graph, uintptr_t memory);

/* Whether the node is one of `later`, or comes before one of them. */
bool graph_precedes(const struct CUgraph_st *graph, size_t node, const size_t *later, size_t count);

#endif
