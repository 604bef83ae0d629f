/* The argument of every kernel: one struct by value, with the same fields as in
 * templates/parts/arguments.cuh.in. */
#ifndef LAMPAR_ARGUMENTS_H
#define LAMPAR_ARGUMENTS_H

#include <stdint.h>

#include "pack/variant.h"

/* Written by a timed-out kernel into mapped host memory. `state` is written last; once it is not 0,
 * the rest is valid. */
typedef struct lampar_fault_record {
  uint32_t state;
  uint32_t rank;
  uint32_t missing; /* bit r: the data of rank r is missing */
  uint32_t mailbox;
  uint32_t epoch;
  uint32_t kernel; /* lampar_arguments.kernel */
} lampar_fault_record;

typedef struct lampar_arguments {
  const void *input;
  void *output;
  uint64_t input_stride; /* elements from one row to the next */
  uint64_t output_stride;
  uint64_t elements; /* of the whole message */
  uint64_t hidden;   /* elements */
  uint32_t mailboxes;
  uint32_t rank;
  uint32_t is_vectorized; /* 1: every vector of input, output and operands is aligned and whole */
  uint32_t kernel;        /* index, for the fault record */
  uint64_t watchdog_ns;
  uint32_t *epoch;   /* one per mailbox, in this rank's memory */
  uint32_t *faulted; /* in this rank's memory: not 0 after a wait has timed out */
  lampar_fault_record *fault;
  void *own; /* this rank's mailboxes */
  /* Every rank's mailboxes, as this rank reaches them, if there are several ranks; then for each
   * operand its address, or its value, and its stride in elements. */
  uint64_t tail[LAMPAR_WORLD_MAX + 2 * LAMPAR_OPERANDS_MAX];
} lampar_arguments;

#endif
