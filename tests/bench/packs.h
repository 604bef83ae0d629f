/* The packs that a benchmark is given, and the groups of two ranks that it opens with them. */
#ifndef LAMPAR_BENCH_PACKS_H
#define LAMPAR_BENCH_PACKS_H

#include <argp.h>
#include <stdbool.h>

#include "verify/ranks.h"

enum {
  WORLD = 2,
  LAUNCHES = 2, /* without and with programmatic launch */
  PACKS_MAX = 8,
  REPLAYS_DEFAULT = 15
};

typedef struct bench_packs {
  const char *path[PACKS_MAX];
  int count, replays;
  lampar_pack *pack[PACKS_MAX];
  lampar_ranks *ranks;
  bool is_shared; /* the ranks share one GPU: only kernels of the same build compare */
} bench_packs;

/* PACK... and --replays; its input is a bench_packs. A benchmark with other options has it as a
 * child. */
extern const struct argp bench_packs_argp;

/* Two ranks, and the packs opened. `skipped`: why there can be none, NULL when there are. */
lampar_status bench_packs_open(bench_packs *packs, const char **skipped);
void bench_packs_close(bench_packs *packs);

/* Launches that are timed: without programmatic launch, and with it where each rank has a GPU. */
int bench_packs_launches(const bench_packs *packs);

/* A strict group of one pack on both ranks. */
lampar_status bench_packs_open_group(bench_packs *packs, int pack, int programmatic);

/* The kernel that takes a call; false: none does. A group of the pack is open. */
bool bench_packs_find(const bench_packs *packs, int pack, const lampar_call *call,
                      lampar_kernel_info *info);

/* A line for each, with its digest. */
void bench_packs_print(const bench_packs *packs);

double slower(const double result[WORLD]);

#endif
