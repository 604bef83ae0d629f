/* A plan as text for people. */
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"

static void explain_widths(FILE *out, const lampar_spec *spec) {
  if (spec->width_count == 0) return;
  fputs("  hidden       ", out);
  for (size_t i = 0; i < spec->width_count; ++i) {
    const lampar_width *width = &spec->widths[i];
    fprintf(out, "%s%u", i > 0 ? ", " : "", width->elements);
    if (width->model != NULL) fprintf(out, " (%s)", width->model);
  }
  fputc('\n', out);
}

static bool has_stages(const lampar_spec *spec) {
  for (size_t i = 0; i < spec->epilogue_count; ++i)
    if (spec->epilogues[i].text[0] != '\0') return true;
  return false;
}

static void explain_epilogues(FILE *out, const lampar_spec *spec) {
  if (!has_stages(spec)) return;
  fputs("  epilogue     ", out);
  for (size_t i = 0; i < spec->epilogue_count; ++i) {
    const char *text = spec->epilogues[i].text;
    fprintf(out, "%s%s", i > 0 ? ", " : "", text[0] != '\0' ? text : "none");
  }
  fprintf(out, "\n  rounding     %s\n", lampar_rounding_name(spec->rounding));
  if (spec->weight_dtype != NULL) fprintf(out, "  weight_dtype %s\n", spec->weight_dtype);
  if (spec->stages != NULL) fprintf(out, "  stages       %s\n", spec->stages);
}

static void explain_spec(FILE *out, const lampar_spec *spec) {
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
  explain_epilogues(out, spec);
  fprintf(out, "  link         %s\n", spec->needs_nvlink ? "nvlink" : "any");
  fprintf(out, "  pdl          %s (archs before sm_90: off)\n", lampar_trigger_name(spec->trigger));
  fprintf(out, "  watchdog_ms  %u\n", spec->watchdog_ms);
  if (spec->alignment > 0) fprintf(out, "  alignment    %u\n", spec->alignment);

  fputs("\ndefaults taken\n", out);
  for (size_t i = 0; i < spec->default_count; ++i) fprintf(out, "  %s\n", spec->defaults[i]);
  if (spec->default_count == 0) fputs("  none\n", out);
}

static void explain_kernels(FILE *out, const lampar_plan *plan) {
  const int width = lampar_plan_name_width(plan);
  fprintf(out, "\n%zu kernels\n", plan->variant_count);
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *variant = &plan->variants[i];
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(variant, name);
    fprintf(out, "  %-*s  %-9s ", width, name,
            variant->persistent ? "persistent," : "single-pass,");
    if (variant->cluster > 1) fprintf(out, "%u x ", variant->cluster);
    fprintf(out, "%u threads, up to ", variant->threads);
    if (variant->hidden > 0) fprintf(out, "%u rows\n", variant->max_rows);
    else fprintf(out, "%llu bytes\n", (unsigned long long)variant->max_bytes);
  }
}

/* The operands of each epilogue, once for all shapes that have the same. */
static void explain_operands(FILE *out, const lampar_plan *plan) {
  bool is_first = true;
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *variant = &plan->variants[i];
    bool is_known = variant->operand_count == 0;
    for (size_t j = 0; !is_known && j < i; ++j)
      is_known =
          strcmp(plan->variants[j].epilogue, variant->epilogue) == 0 &&
          memcmp(plan->variants[j].operands, variant->operands, sizeof variant->operands) == 0;
    if (is_known) continue;
    if (is_first) fputs("\noperands\n", out);
    is_first = false;
    fprintf(out, "  %s\n", variant->epilogue);
    for (uint32_t o = 0; o < variant->operand_count; ++o) {
      const lampar_operand_info *operand = &variant->operands[o];
      fprintf(out, "    %-16s %-3s  %-8s per %s", operand->name, operand->output ? "out" : "in",
              lampar_dtype_name(operand->dtype), lampar_granularity_name(operand->granularity));
      if (operand->group > 0) fprintf(out, " of %u", operand->group);
      fputc('\n', out);
    }
  }
}

/* Where two-shot takes over: after the largest one-shot kernel for the same calls. */
static void explain_twoshot(FILE *out, const lampar_plan *plan) {
  const int width = lampar_plan_name_width(plan);
  bool is_first = true;
  for (size_t i = 1; i < plan->variant_count; ++i) {
    const lampar_variant *one = &plan->variants[i - 1], *two = &plan->variants[i];
    if (one->algorithm != LAMPAR_ONESHOT || two->algorithm != LAMPAR_TWOSHOT) continue;
    if (is_first) fputs("\ntwo-shot\n", out);
    is_first = false;
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(two, name);
    fprintf(out, "  %-*s  for calls of more than ", width, name);
    if (one->hidden > 0) fprintf(out, "%u rows\n", one->max_rows);
    else fprintf(out, "%llu bytes\n", (unsigned long long)one->max_bytes);
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
  if (out != NULL) {
    explain_spec(out, spec);
    explain_kernels(out, plan);
    explain_operands(out, plan);
    explain_twoshot(out, plan);
    explain_rest(out, plan);
  }
  if (out == NULL || fclose(out) != 0) {
    free(bytes);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for the explanation", plan->name);
  }
  *text = bytes;
  return LAMPAR_OK;
}
