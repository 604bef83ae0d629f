#include "packs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph_timer.h"

enum { WATCHDOG_MS = 20000, OPTION_REPLAYS = 256 };

static const struct argp_option options[] = {
    {"replays", OPTION_REPLAYS, "N", 0, "Replays of each graph (default: 15)", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  bench_packs *const packs = state->input;
  switch (key) {
  case OPTION_REPLAYS:
    packs->replays = atoi(value);
    if (packs->replays < 1 || packs->replays > GRAPH_TIMER_REPLAYS_MAX)
      argp_error(state, "--replays %s: 1 to %d", value, GRAPH_TIMER_REPLAYS_MAX);
    return 0;
  case ARGP_KEY_ARG:
    if (packs->count == PACKS_MAX) argp_error(state, "more than %d packs", PACKS_MAX);
    packs->path[packs->count++] = value;
    return 0;
  case ARGP_KEY_END:
    if (packs->count == 0) argp_error(state, "PACK is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp bench_packs_argp = {options, parse, "PACK...", NULL, NULL, NULL, NULL};

lampar_status bench_packs_open(bench_packs *packs, const char **skipped) {
  *skipped = NULL;
  if (lampar_ranks_create(0, WORLD, 0, &packs->ranks) != LAMPAR_OK) *skipped = lampar_last_error();
  if (*skipped != NULL) return LAMPAR_OK;
  packs->is_shared = lampar_ranks_gpu_count(packs->ranks) < WORLD;
  if (packs->is_shared)
    printf("one GPU for both ranks: no link between them, no NCCL, no programmatic launch\n");
  LAMPAR_TRY(lampar_ranks_set_world(packs->ranks, WORLD));
  for (int p = 0; p < packs->count; ++p)
    LAMPAR_TRY(lampar_pack_open(packs->path[p], &packs->pack[p]));
  return LAMPAR_OK;
}

void bench_packs_close(bench_packs *packs) {
  lampar_ranks_destroy(packs->ranks);
  for (int p = 0; p < packs->count; ++p) lampar_pack_close(packs->pack[p]);
}

int bench_packs_launches(const bench_packs *packs) {
  return packs->is_shared ? 1 : LAUNCHES;
}

lampar_status bench_packs_open_group(bench_packs *packs, int pack, int programmatic) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.programmatic_launch = programmatic;
  return lampar_ranks_open_group(packs->ranks, &packs->pack[pack], 1, &config);
}

bool bench_packs_find(const bench_packs *packs, int pack, const lampar_call *call,
                      lampar_kernel_info *info) {
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  if (lampar_query(lampar_ranks_at(packs->ranks, 0)->group, call, &answer) != LAMPAR_OK ||
      answer.path != LAMPAR_PATH_KERNEL)
    return false;
  *info = (lampar_kernel_info)LAMPAR_KERNEL_INFO_INIT;
  for (size_t i = 0; i < lampar_pack_count(packs->pack[pack]); ++i)
    if (lampar_pack_info(packs->pack[pack], i, info) == LAMPAR_OK &&
        strcmp(info->name, answer.kernel) == 0)
      return true;
  return false;
}

void bench_packs_print(const bench_packs *packs) {
  for (int p = 0; p < packs->count; ++p)
    printf("pack %d: %s %s\n", p + 1, packs->path[p], lampar_pack_digest(packs->pack[p]));
}

double slower(const double result[WORLD]) {
  return result[0] > result[1] ? result[0] : result[1];
}
