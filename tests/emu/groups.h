/* The cases of groups_test, and what they share. Each runs on ranks that have no group yet, on the
 * emulated device, and gets the pack of the spec that the table in groups_test.c names. */
#ifndef LAMPAR_TESTS_GROUPS_H
#define LAMPAR_TESTS_GROUPS_H

#include <stdbool.h>

#include "verify/ranks.h"

enum {
  HIDDEN = 328, /* of emu.lua */
  ROWS = 24,    /* the same */
};

lampar_status expect(bool is_so, const char *what);

/* An error of that status, whose message has that word. */
lampar_status expect_error(lampar_status got, lampar_status status, const char *word);

/* A call of fp32 without memory. */
lampar_call call_of(uint64_t rows, uint64_t hidden);

/* lampar_query gives this reason for the call. */
lampar_status expect_reason(lampar_rank *rank, const lampar_call *call, lampar_reason reason);

lampar_status kernel_names(lampar_ranks *ranks, lampar_pack *pack);
lampar_status kernel_names_shared(lampar_ranks *ranks, lampar_pack *pack);
lampar_status refusals(lampar_ranks *ranks, lampar_pack *pack);
lampar_status roles(lampar_ranks *ranks, lampar_pack *pack);
lampar_status creators_at_once(lampar_ranks *ranks, lampar_pack *pack);
lampar_status late_in_nccl(lampar_ranks *ranks, lampar_pack *pack);
lampar_status late_in_process(lampar_ranks *ranks, lampar_pack *pack);

#endif
