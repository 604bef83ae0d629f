/* What the checks on GPUs share: ranks, buffers, samples and packs, and short ways to use them. */
#ifndef LAMPAR_TEST_FIXTURE_H
#define LAMPAR_TEST_FIXTURE_H

#include "base/error.h"
#include "verify/rank_graph.h"
#include "verify/reference.h"
#include "verify/batch_check.h"

enum {
  RANKS = 8,
  BYTES_LIMIT = 16 << 20,  /* of a flat message in gpu.lua */
  BUFFER_BYTES = 64 << 20, /* the largest message, in and out, and some more */
  SAMPLE_BYTES = 17 << 20, /* of a dtype and rank; slices of it are inputs */
  WATCHDOG_MS = 5000,      /* no kernel outlives its check for long */
};

typedef struct fixture {
  const char *program, *pack_path, *other_path;
  lampar_pack *pack, *other; /* of gpu.lua and other.lua */
  lampar_ranks *ranks;
  lampar_batches *batches;
  lampar_samples finite[LAMPAR_BATCH_DTYPES]; /* of one world at a time */
  lampar_batch_data data;                     /* those of them that are made */
} fixture;

/* Errors: DRIVER when there is no GPU, and those of the packs. */
lampar_status fixture_open(fixture *fixture);
void fixture_close(fixture *fixture);

/* Makes fixture->data finite numbers for the world. */
lampar_status fixture_use_world(fixture *fixture, int world);

/* The config that most checks use: enabled, strict, watchdog of WATCHDOG_MS. */
lampar_group_config fixture_config(void);
lampar_status fixture_open_group(fixture *fixture, const lampar_group_config *config);

/* The answer for a call on rank 0's group. */
lampar_status fixture_query(fixture *fixture, uint32_t dtype, uint64_t rows, uint64_t hidden,
                            lampar_answer *answer);

/* Fails unless a status is the one expected; `what` is what was done. */
lampar_status expect_status(lampar_status got, lampar_status expected, const char *what);

/* A list of calls that grows. */
typedef struct call_list {
  lampar_check_call *calls;
  size_t count, capacity;
  bool complete; /* false: memory ran out */
} call_list;

void call_list_add(call_list *list, lampar_check_call call);
void call_list_free(call_list *list);
/* Runs the list on the open groups and frees it; adds its length to `*calls`. */
lampar_status call_list_run(call_list *list, fixture *fixture, uint64_t *calls);

/* Numbers that look random, the same on every run. */
uint64_t next_random(uint64_t *state);
/* A place in the samples for so many elements. */
uint64_t random_first(uint64_t *state, uint32_t dtype, uint64_t elements);

#endif
