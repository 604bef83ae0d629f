/* Streams, and what a capture makes of them. */
#ifndef LAMPAR_EMU_STREAM_H
#define LAMPAR_EMU_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emulator/exec/work.h"

struct CUgraph_st;

struct CUstream_st {
  int device;
  unsigned index; /* of the device's streams */
  uint64_t enqueued;
  emu_work *last;              /* the end of what was enqueued */
  struct CUgraph_st *captured; /* NULL: the stream is not being captured */
  bool began_capture;
  size_t *tails; /* the captured nodes that the next one waits for */
  size_t tail_count;
  struct CUstream_st *next; /* of the process */
};

struct CUstream_st *stream_or_default(struct CUstream_st *stream);

/* Appends to the stream, or to the graph that captures it. `enqueued`, which may be NULL, gets the
 * work with a reference, or NULL in a capture. */
int stream_enqueue(struct CUstream_st *stream, const emu_task *task, emu_work **enqueued);
/* The same for a work that has edges of its own already. */
void stream_append(struct CUstream_st *stream, emu_work *work);

/* 900 when this thread captures a stream in a mode that forbids what waits or allocates. */
int stream_refuse_in_capture(void);
/* 900 when that stream is being captured. */
int stream_refuse_while_captured(const struct CUstream_st *stream);

/* Waits for all streams of the device; its error if it has failed. */
int stream_synchronize_device(int device);

/* Whether some stream is being captured into the graph of that number. */
bool stream_is_captured_as(uint64_t id);
/* The stream's next node in `graph` also waits for those. */
void stream_join(struct CUstream_st *stream, struct CUgraph_st *graph, const size_t *tails,
                 size_t count);

#endif
