/* A plan in words. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "error.h"

static void explain_widths(FILE *out, const lampar_spec *spec) {
  if (spec->width_count == 0) return;
  fputs("  hidden       ", out);
  for (size_t i = 0; i < spec->width_count; ++i) {
    const lampar_width *width = &spec->widths[i];
    fprintf(out, "%s%u", i > 0 ? ", " : "", width->elements);
    if (width->model) fprintf(out, " (%s)", width->model);
  }
  fputc('\n', out);
}

static void explain_spec(FILE *out, const lampar_spec *spec) {
  static const char *const triggers[] = {"off", "early", "exit"};
  fprintf(out, "spec %s\n  arch         ", spec->name);
  for (size_t i = 0; i < spec->arch_count; ++i)
    fprintf(out, "%s%s", i > 0 ? ", " : "", lampar_arch_name(spec->archs[i]));
  fputs("\n  world        ", out);
  for (size_t i = 0; i < spec->world_count; ++i)
    fprintf(out, "%s%u", i > 0 ? ", " : "", spec->worlds[i]);
  fputs("\n  dtype        ", out);
  for (size_t i = 0; i < spec->dtype_count; ++i)
    fprintf(out, "%s%s", i > 0 ? ", " : "", lampar_dtype_name(spec->dtypes[i]));
  fputc('\n', out);
  explain_widths(out, spec);
  if (spec->width_count > 0) fprintf(out, "  rows         %u\n", spec->rows);
  if (spec->bytes > 0) fprintf(out, "  bytes        %llu\n", (unsigned long long)spec->bytes);
  fprintf(out, "  link         %s\n", spec->needs_nvlink ? "nvlink" : "any");
  fprintf(out, "  pdl          %s (archs before sm_90: off)\n", triggers[spec->trigger]);
  fprintf(out, "  watchdog_ms  %u\n", spec->watchdog_ms);

  fputs("\ndefaults taken\n", out);
  for (size_t i = 0; i < spec->default_count; ++i) fprintf(out, "  %s\n", spec->defaults[i]);
  if (spec->default_count == 0) fputs("  none\n", out);
}

static void explain_kernels(FILE *out, const lampar_plan *plan) {
  fprintf(out, "\n%zu kernels\n", plan->variant_count);
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *variant = &plan->variants[i];
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(variant, name);
    fprintf(out, "  %-48s %-9s %u threads, up to ", name,
            variant->looping ? "looping," : "straight,", variant->threads);
    if (variant->hidden > 0) fprintf(out, "%u rows\n", variant->rows_limit);
    else fprintf(out, "%llu bytes\n", (unsigned long long)variant->bytes_limit);
  }
}

static void explain_rest(FILE *out, const lampar_plan *plan) {
  fprintf(out, "\ndropped\n");
  for (size_t i = 0; i < plan->skip_count; ++i)
    fprintf(out, "  %s: %s\n", plan->skips[i].what, plan->skips[i].why);
  if (plan->skip_count == 0) fputs("  nothing\n", out);

  fputs("\nworkspace of each rank\n", out);
  for (uint32_t world = 2; world <= LAMPAR_WORLD_MAX; ++world) {
    const uint64_t mailboxes = lampar_plan_mailboxes(plan, world);
    if (mailboxes == 0) continue;
    const uint64_t bytes = lampar_workspace_bytes(mailboxes, world);
    fprintf(out, "  world %-2u  %llu bytes (%.1f MiB), %llu mailboxes\n", world,
            (unsigned long long)bytes, (double)bytes / (1 << 20), (unsigned long long)mailboxes);
  }
}

lampar_status lampar_plan_explain(const lampar_spec *spec, const lampar_plan *plan, char **text) {
  char *bytes = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&bytes, &size);
  if (out) {
    explain_spec(out, spec);
    explain_kernels(out, plan);
    explain_rest(out, plan);
  }
  if (!out || fclose(out) != 0) {
    free(bytes);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for the explanation", plan->name);
  }
  *text = bytes;
  return LAMPAR_OK;
}
