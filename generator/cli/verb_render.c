#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/template_folder.h"
#include "cli/verbs.h"
#include "offline/output_file.h"
#include "plan/plan.h"
#include "spec/nearest.h"
#include "template/render.h"

typedef struct arguments {
  const char *plan, *name, *output, *depfile, *templates, *stages;
  lampar_render_options render;
} arguments;

enum { OPTION_DEPFILE = 256, OPTION_LINE_DIRECTIVES, OPTION_TEMPLATES, OPTION_STAGES };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write the source to FILE (default: standard output)", 0},
    {"depfile", OPTION_DEPFILE, "FILE", 0,
     "Write the templates that were read to FILE, as a Makefile rule", 0},
    {"line-directives", OPTION_LINE_DIRECTIVES, NULL, 0,
     "Make compiler messages point at the templates (#line)", 0},
    {"templates", OPTION_TEMPLATES, "FOLDER", 0,
     "Read the templates from FOLDER (default: LAMPAR_TEMPLATES, else lampar's own)", 0},
    {"stages", OPTION_STAGES, "FOLDER", 0,
     "Read your own stages from FOLDER (default: the folder that the plan names, next to the plan)",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case 'o': given->output = value; return 0;
  case OPTION_DEPFILE: given->depfile = value; return 0;
  case OPTION_LINE_DIRECTIVES: given->render.line_directives = true; return 0;
  case OPTION_TEMPLATES: given->templates = value; return 0;
  case OPTION_STAGES: given->stages = value; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num == 0) given->plan = value;
    else if (state->arg_num == 1) given->name = value;
    else argp_error(state, "expected one NAME");
    return 0;
  case ARGP_KEY_END:
    if (given->name == NULL) argp_error(state, "PLAN.json or NAME is missing");
    if (given->depfile != NULL && given->output == NULL) argp_error(state, "--depfile needs -o");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static lampar_status find_variant(const char *path, const lampar_plan *plan, const char *wanted,
                                  const lampar_variant **variant) {
  char(*const names)[LAMPAR_NAME_BYTES] = calloc(plan->variant_count, sizeof *names);
  const char **const list = calloc(plan->variant_count, sizeof *list);
  *variant = NULL;
  for (size_t i = 0; names != NULL && list != NULL && i < plan->variant_count; ++i) {
    lampar_variant_name(&plan->variants[i], names[i]);
    list[i] = names[i];
    if (strcmp(names[i], wanted) == 0) *variant = &plan->variants[i];
  }
  lampar_status status = LAMPAR_OK;
  if (names == NULL || list == NULL)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for its names", path);
  else if (*variant == NULL)
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: no kernel '%s'; did you mean %s?", path,
                         wanted, lampar_nearest(wanted, list, plan->variant_count));
  free(list);
  free(names);
  return status;
}

/* "target: file file", escaped for Make. */
static lampar_status write_depfile(const char *path, const char *target, const lampar_files *read) {
  char *text;
  size_t size;
  FILE *const out = open_memstream(&text, &size);
  if (out == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", path);
  for (size_t i = 0; i <= read->count; ++i) {
    for (const char *at = i == 0 ? target : read->paths[i - 1]; *at != '\0'; ++at) {
      if (*at == ' ' || *at == '#') fputc('\\', out);
      if (*at == '$') fputc('$', out);
      fputc(*at, out);
    }
    fputs(i == 0 ? ":" : "", out);
    fputs(i < read->count ? " \\\n  " : "\n", out);
  }
  lampar_status status;
  if (fclose(out) != 0) status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", path);
  else status = lampar_output_file_write(path, text, size);
  free(text);
  return status;
}

static lampar_status write_source(const arguments *given, const char *source,
                                  const lampar_files *read) {
  if (given->output == NULL) {
    fputs(source, stdout);
    return LAMPAR_OK;
  }
  if (given->depfile != NULL) LAMPAR_TRY(write_depfile(given->depfile, given->output, read));
  return lampar_output_file_write(given->output, source, strlen(source));
}

/* The plan names the folder relative to the spec; after a build the plan is elsewhere, and --stages
 * names the folder. */
static lampar_status stages_folder(const arguments *given, const lampar_plan *plan,
                                   char folder[PATH_MAX]) {
  const char *const slash = strrchr(given->plan, '/');
  const int before = slash != NULL ? (int)(slash + 1 - given->plan) : 0;
  const int length = given->stages != NULL
                         ? snprintf(folder, PATH_MAX, "%s", given->stages)
                         : snprintf(folder, PATH_MAX, "%.*s%s", before, given->plan, plan->stages);
  if (length > 0 && length < PATH_MAX) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: the path of its stages is too long", given->plan);
}

static lampar_status render(const arguments *given, const lampar_plan *plan,
                            const lampar_variant *variant, char **source, lampar_files *read) {
  char templates[PATH_MAX], folder[PATH_MAX];
  lampar_own_stages own = {0};
  LAMPAR_TRY(lampar_template_folder(given->templates, templates));
  if (plan->stages != NULL) {
    LAMPAR_TRY(stages_folder(given, plan, folder));
    own = (lampar_own_stages){folder, plan->stages};
  }
  return lampar_render(templates, &own, variant, &given->render, source, read);
}

lampar_status lampar_verb_render(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {
      options, parse, "PLAN.json NAME", "Writes the complete source of one kernel of a plan.", NULL,
      NULL,    NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  lampar_plan plan = {0};
  lampar_files read = {0};
  char *source = NULL;
  const lampar_variant *variant = NULL;
  lampar_status status;
  LAMPAR_TRY_OUT(lampar_plan_read(given.plan, &plan));
  LAMPAR_TRY_OUT(find_variant(given.plan, &plan, given.name, &variant));
  LAMPAR_TRY_OUT(render(&given, &plan, variant, &source, &read));
  LAMPAR_TRY_OUT(write_source(&given, source, &read));
out:
  free(source);
  lampar_files_free(&read);
  lampar_plan_free(&plan);
  return status;
}
