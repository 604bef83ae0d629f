#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/template_folder.h"
#include "cli/verbs.h"
#include "plan/plan.h"

typedef struct arguments {
  const char *spec, *templates;
  bool json, explain;
} arguments;

enum { OPTION_JSON = 256, OPTION_EXPLAIN, OPTION_TEMPLATES };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print the plan as JSON, as `lampar build` stores it", 0},
    {"explain", OPTION_EXPLAIN, NULL, 0,
     "Also print every default taken, every combination dropped and why, and the workspace", 0},
    {"templates", OPTION_TEMPLATES, "FOLDER", 0,
     "Read the templates from FOLDER (default: LAMPAR_TEMPLATES, else lampar's own)", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_JSON: given->json = true; return 0;
  case OPTION_EXPLAIN: given->explain = true; return 0;
  case OPTION_TEMPLATES: given->templates = value; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one SPEC");
    given->spec = value;
    return 0;
  case ARGP_KEY_END:
    if (given->spec == NULL) argp_error(state, "SPEC is missing");
    if (given->json && given->explain)
      argp_error(state, "expected only one of --json and --explain");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_table(const lampar_plan *plan) {
  const int width = lampar_plan_name_width(plan);
  printf("%-*s %16s %8s\n", width, "kernel", "limit", "threads");
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *const variant = &plan->variants[i];
    char name[LAMPAR_NAME_BYTES], limit[32], threads[32];
    lampar_variant_name(variant, name);
    if (variant->hidden > 0) snprintf(limit, sizeof limit, "%u rows", variant->max_rows);
    else snprintf(limit, sizeof limit, "%llu bytes", (unsigned long long)variant->max_bytes);
    if (variant->cluster > 1)
      snprintf(threads, sizeof threads, "%ux%u", variant->cluster, variant->threads);
    else snprintf(threads, sizeof threads, "%u", variant->threads);
    printf("%-*s %16s %8s\n", width, name, limit, threads);
  }
  printf("%s: %zu kernels\n", plan->name, plan->variant_count);
}

static lampar_status print_plan(const arguments *given, const lampar_spec *spec,
                                const lampar_plan *plan) {
  char *text = NULL;
  if (given->json) LAMPAR_TRY(lampar_plan_to_json(plan, &text));
  else if (given->explain) LAMPAR_TRY(lampar_plan_explain(spec, plan, &text));
  if (text != NULL) fputs(text, stdout);
  else print_table(plan);
  free(text);
  return LAMPAR_OK;
}

lampar_status lampar_verb_plan(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {options, parse, "SPEC", "Lists the kernels that a spec makes.",
                            NULL,    NULL,  NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  char templates[PATH_MAX];
  lampar_spec spec = {0};
  lampar_plan plan = {0};
  lampar_status status;
  LAMPAR_TRY_OUT(lampar_spec_read(given.spec, &spec, NULL));
  LAMPAR_TRY_OUT(lampar_template_folder(given.templates, templates));
  LAMPAR_TRY_OUT(lampar_plan_make(&spec, templates, &plan, NULL));
  LAMPAR_TRY_OUT(print_plan(&given, &spec, &plan));
out:
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
  return status;
}
