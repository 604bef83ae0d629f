/* Writes a plan with other geometries for its fused kernels, and prints "NAME ARCH" of each kernel
 * for the steps that make a pack of it. Whatever comes out must give the same bits.
 *   geometries narrow|wide PLAN.json CHANGED.json
 * narrow: one-shot, one block a row, four vectors a lane or more.
 * wide: two-shot where it is possible, rows over as many blocks of a cluster as divide them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "offline/output_file.h"
#include "pack/arch.h"
#include "plan/plan.h"

enum { THREADS_MAX = 1024, CLUSTER_MAX = 8, VECTORS_MIN = 4 };

static uint32_t divide_up(uint64_t a, uint64_t b) {
  return (uint32_t)((a + b - 1) / b);
}

/* Takes a change over where it is one that a plan could have. */
static bool take(lampar_variant *v, const lampar_variant *changed) {
  if (!lampar_variant_is_valid(changed)) return false;
  *v = *changed;
  return true;
}

static void make_narrow(lampar_variant *v, uint64_t row) {
  lampar_variant changed = *v;
  if (changed.algorithm == LAMPAR_TWOSHOT) changed.algorithm = LAMPAR_ONESHOT;
  changed.cluster = 1;
  changed.vectors_per_warp = divide_up(row, THREADS_MAX / 32);
  if (changed.vectors_per_warp < VECTORS_MIN)
    changed.vectors_per_warp = row < VECTORS_MIN ? (uint32_t)row : VECTORS_MIN;
  changed.threads = 32 * divide_up(row, changed.vectors_per_warp);
  take(v, &changed);
}

static void make_wide(lampar_variant *v, uint64_t row) {
  lampar_variant changed = *v;
  changed.algorithm = LAMPAR_TWOSHOT;
  take(v, &changed);
  for (uint32_t cluster = CLUSTER_MAX; cluster > 0; --cluster) {
    changed = *v;
    changed.cluster = cluster;
    changed.vectors_per_warp = divide_up(row, (uint64_t)cluster * (THREADS_MAX / 32));
    changed.threads = 32 * divide_up(row, (uint64_t)cluster * changed.vectors_per_warp);
    if (take(v, &changed)) return;
  }
}

static int compare(const void *a, const void *b) {
  return lampar_variant_compare(a, b);
}

static lampar_status change(const char *what, const char *from, const char *to) {
  const bool is_narrow = strcmp(what, "narrow") == 0;
  if (!is_narrow && strcmp(what, "wide") != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: narrow or wide", what);
  lampar_plan plan = {0};
  char *text = NULL;
  LAMPAR_TRY(lampar_plan_read(from, &plan));
  for (size_t i = 0; i < plan.variant_count; ++i) {
    lampar_variant *v = &plan.variants[i];
    if (v->epilogue[0] == '\0') continue;
    if (is_narrow) make_narrow(v, lampar_variant_row_mailboxes(v));
    else make_wide(v, lampar_variant_row_mailboxes(v));
  }
  qsort(plan.variants, plan.variant_count, sizeof *plan.variants, compare);
  lampar_status status = lampar_plan_to_json(&plan, &text);
  if (status == LAMPAR_OK) status = lampar_output_file_write(to, text, strlen(text));
  for (size_t i = 0; i < plan.variant_count && status == LAMPAR_OK; ++i) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&plan.variants[i], name);
    printf("%s %s\n", name, lampar_arch_name(plan.variants[i].arch));
  }
  free(text);
  lampar_plan_free(&plan);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: geometries narrow|wide PLAN.json CHANGED.json\n");
    return 2;
  }
  if (change(argv[1], argv[2], argv[3]) == LAMPAR_OK) return 0;
  fprintf(stderr, "geometries: %s\n", lampar_last_error());
  return 2;
}
