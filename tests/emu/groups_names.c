/* Kernels chosen by name: config.kernels and LAMPAR_KERNEL. */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define PERSISTENT  "ar_oneshot_w2_f32_h328_emu"
#define SINGLE_PASS PERSISTENT "_r5"

static lampar_status open_with_names(lampar_ranks *ranks, lampar_pack *pack, const char *names) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.kernels = names;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  return lampar_ranks_open_group(ranks, &pack, 1, &config);
}

static lampar_status expect_kernel(lampar_ranks *ranks, uint64_t rows, const char *name) {
  lampar_group *group = lampar_ranks_at(ranks, 1)->group;
  const lampar_call call = call_of(rows, HIDDEN);
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(group, &call, &answer));
  if (answer.kernel != NULL && strcmp(answer.kernel, name) == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s takes the call, not %s",
                     answer.kernel != NULL ? answer.kernel : answer.message, name);
}

static lampar_status create_with_other_names(lampar_rank *rank, void *user) {
  lampar_pack *pack = user;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.kernels = rank->rank == 0 ? NULL : "*_f32_*";
  config.exchange = rank->exchange;
  LAMPAR_TRY(lampar_group_create(&group, NULL, &pack, 1, &config));
  const char *report = lampar_group_report(group);
  const lampar_status status = expect(
      strstr(report, "rank 1 differs from rank 0 in the group's config, LAMPAR_KERNEL or") != NULL,
      report);
  lampar_group_destroy(group);
  return status;
}

lampar_status kernel_names(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(open_with_names(ranks, pack, NULL));
  LAMPAR_TRY(expect_kernel(ranks, 1, SINGLE_PASS));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));

  LAMPAR_TRY(open_with_names(ranks, pack, "*_h328_emu"));
  LAMPAR_TRY(expect_kernel(ranks, 1, PERSISTENT));
  lampar_rank *rank = lampar_ranks_at(ranks, 0);
  const lampar_call flat = call_of(1, 333);
  LAMPAR_TRY(expect_reason(rank, &flat, LAMPAR_REASON_HIDDEN));
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, &flat, &answer));
  LAMPAR_TRY(expect(strstr(answer.message, "with names like *_h328_emu") != NULL, answer.message));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));

  setenv("LAMPAR_KERNEL", "*_h328_emu", 1);
  LAMPAR_TRY(open_with_names(ranks, pack, NULL));
  LAMPAR_TRY(expect_kernel(ranks, 1, PERSISTENT));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  LAMPAR_TRY(open_with_names(ranks, pack, "*")); /* the field wins over the variable */
  LAMPAR_TRY(expect_kernel(ranks, 1, SINGLE_PASS));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  unsetenv("LAMPAR_KERNEL");

  LAMPAR_TRY(open_with_names(ranks, pack, "*_h4096_*"));
  const char *report = lampar_group_report(lampar_ranks_at(ranks, 1)->group);
  LAMPAR_TRY(
      expect(strstr(report, "no kernel for 2 ranks on this GPU has a name like *_h4096_*") != NULL,
             report));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  return lampar_ranks_run(ranks, create_with_other_names, pack);
}

static lampar_status call_too_large(lampar_rank *rank, void *user) {
  (void)user;
  lampar_call call = call_of(5, HIDDEN);
  call.input = call.output = rank; /* never read: the call is refused before */
  return expect_error(lampar_all_reduce(rank->group, &call, rank->stream[0]),
                      LAMPAR_ERROR_NO_KERNEL, "there is no persistent kernel");
}

/* Two ranks on one device: half of it each, and a single-pass kernel alone does not fit. */
lampar_status kernel_names_shared(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(open_with_names(ranks, pack, SINGLE_PASS));
  return lampar_ranks_run(ranks, call_too_large, NULL);
}
