#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/template_folder.h"
#include "cli/verbs.h"
#include "offline/compiler_file.h"
#include "offline/ninja_file.h"
#include "offline/ninja_run.h"
#include "offline/output_file.h"
#include "pack/arch.h"
#include "plan/plan.h"
#include "spec/spec_archs.h"

typedef struct arguments {
  const char *spec, *output, *archs, *templates;
  unsigned jobs; /* 0: not given */
  lampar_nvrtc_options compiler;
  bool only_prepare;
} arguments;

enum { OPTION_ARCH = 256, OPTION_LINEINFO, OPTION_TEMPLATES, OPTION_PREPARE, JOBS_MAX = 4096 };

static const struct argp_option options[] = {
    {"output", 'o', "FOLDER", 0, "Create the pack's folder in FOLDER (default: out)", 0},
    {"jobs", 'j', "N", 0, "Run N steps in parallel (default: Ninja's choice)", 0},
    {"arch", OPTION_ARCH, "ARCH,..", 0, "Build only for these archs of the spec", 0},
    {"lineinfo", OPTION_LINEINFO, NULL, 0, "Keep line numbers for profilers", 0},
    {"templates", OPTION_TEMPLATES, "FOLDER", 0,
     "Read the templates from FOLDER (default: LAMPAR_TEMPLATES, else lampar's own)", 0},
    {"prepare", OPTION_PREPARE, NULL, 0, "Write plan.json and build.ninja, but do not run Ninja",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case 'o': given->output = value; return 0;
  case 'j': {
    char *end;
    const unsigned long jobs = strtoul(value, &end, 10);
    if (end == value || *end != '\0' || jobs < 1 || jobs > JOBS_MAX)
      argp_error(state, "-j %s: expected a number from 1 to %d", value, JOBS_MAX);
    given->jobs = (unsigned)jobs;
    return 0;
  }
  case OPTION_ARCH: given->archs = value; return 0;
  case OPTION_LINEINFO: given->compiler.line_info = true; return 0;
  case OPTION_TEMPLATES: given->templates = value; return 0;
  case OPTION_PREPARE: given->only_prepare = true; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one SPEC");
    given->spec = value;
    return 0;
  case ARGP_KEY_END:
    if (given->spec == NULL) argp_error(state, "SPEC is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static lampar_status arch_missing(const lampar_spec *spec, const char *wanted) {
  char known[LAMPAR_SPEC_ARCH_NAMES_BYTES];
  lampar_spec_arch_names(spec, known);
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "--arch '%s': the spec %s has only%s", wanted,
                     spec->name, known);
}

/* Keeps only the archs that `list` names: "sm_90,sm_100". */
static lampar_status narrow(lampar_spec *spec, const char *list) {
  uint32_t archs[LAMPAR_SPEC_ARCHS];
  size_t count = 0;
  while (true) {
    char name[32];
    uint32_t arch;
    const size_t length = strcspn(list, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             list);
    if (!lampar_arch_parse(name, &arch) ||
        !lampar_archs_contain(spec->archs, spec->arch_count, arch))
      return arch_missing(spec, name);
    if (!lampar_archs_contain(archs, count, arch)) archs[count++] = arch;
    if (list[length] == '\0') break;
    list += length + 1;
  }
  lampar_spec_keep_archs(spec, archs, count);
  return LAMPAR_OK;
}

/* Symbolic links are kept: `require` looks next to the path that the user gave. */
static lampar_status make_absolute(const char *path, char **absolute) {
  char folder[PATH_MAX];
  *absolute = NULL;
  if (path[0] != '/' && getcwd(folder, sizeof folder) == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "cannot read the path of the current folder");
  const int length =
      path[0] == '/' ? asprintf(absolute, "%s", path) : asprintf(absolute, "%s/%s", folder, path);
  if (length >= 0) return LAMPAR_OK;
  *absolute = NULL;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", path);
}

static lampar_status make_files_absolute(const lampar_files *files, lampar_files *absolute) {
  for (size_t i = 0; i < files->count; ++i) {
    char *path;
    LAMPAR_TRY(make_absolute(files->paths[i], &path));
    const lampar_status status = lampar_files_add(absolute, path);
    free(path);
    LAMPAR_TRY(status);
  }
  return LAMPAR_OK;
}

static lampar_status make_ninja_text(const arguments *given, const lampar_plan *plan,
                                     const lampar_files *read, const lampar_nvrtc *nvrtc,
                                     char **text) {
  char tool[PATH_MAX];
  if (realpath("/proc/self/exe", tool) == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "cannot read /proc/self/exe, the path of lampar");
  lampar_ninja_file facts = {
      .tool = tool,
      .templates = given->templates,
      .nvrtc = nvrtc != NULL ? lampar_nvrtc_path(nvrtc) : NULL,
      .archs = given->archs,
      .line_info = given->compiler.line_info,
  };
  char *spec = NULL, *stages = NULL;
  lampar_status status;
  LAMPAR_TRY_OUT(make_absolute(given->spec, &spec));
  if (plan->stages_folder != NULL) LAMPAR_TRY_OUT(make_absolute(plan->stages_folder, &stages));
  facts.spec = spec;
  facts.stages = stages;
  LAMPAR_TRY_OUT(make_files_absolute(read, &facts.spec_files));
  LAMPAR_TRY_OUT(lampar_ninja_file_make(plan, &facts, text));
out:
  lampar_files_free(&facts.spec_files);
  free(spec);
  free(stages);
  return status;
}

static lampar_status write_text(const char *folder, const char *name, const char *text) {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof path)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s/%s: the path is too long", folder, name);
  return lampar_output_file_write(path, text, strlen(text));
}

/* Whether the plan has kernels for the emulated device (true) or for GPUs (false). */
static bool has_kernels(const lampar_plan *plan, bool emulated) {
  for (size_t i = 0; i < plan->variant_count; ++i)
    if ((plan->variants[i].arch == LAMPAR_ARCH_EMU) == emulated) return true;
  return false;
}

/* Finds every error before the first file is written. */
static lampar_status prepare(const arguments *given, const lampar_plan *plan,
                             const lampar_files *read, const lampar_nvrtc *nvrtc,
                             const char *folder) {
  char *plan_text = NULL, *compiler_text = NULL, *ninja_text = NULL;
  lampar_status status;
  for (size_t i = 0; i < plan->variant_count; ++i)
    if (plan->variants[i].arch != LAMPAR_ARCH_EMU)
      LAMPAR_TRY_OUT(lampar_nvrtc_require(nvrtc, plan->variants[i].arch));
  LAMPAR_TRY_OUT(lampar_plan_to_json(plan, &plan_text));
  LAMPAR_TRY_OUT(
      lampar_compiler_file_make(nvrtc, &given->compiler, has_kernels(plan, true), &compiler_text));
  LAMPAR_TRY_OUT(make_ninja_text(given, plan, read, nvrtc, &ninja_text));
  LAMPAR_TRY_OUT(lampar_output_folder_make(folder));
  LAMPAR_TRY_OUT(write_text(folder, "plan.json", plan_text));
  LAMPAR_TRY_OUT(write_text(folder, "compiler.json", compiler_text));
  LAMPAR_TRY_OUT(write_text(folder, "build.ninja", ninja_text));
out:
  free(plan_text);
  free(compiler_text);
  free(ninja_text);
  return status;
}

static lampar_status build(const arguments *given, const lampar_plan *plan,
                           const lampar_files *read) {
  char folder[PATH_MAX];
  const int length = snprintf(folder, sizeof folder, "%s/%s", given->output, plan->name);
  if (length < 0 || (size_t)length >= sizeof folder)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "-o %s: the path is too long", given->output);
  lampar_nvrtc *nvrtc = NULL;
  if (has_kernels(plan, false)) LAMPAR_TRY(lampar_nvrtc_open(&nvrtc));
  const lampar_status status = prepare(given, plan, read, nvrtc, folder);
  lampar_nvrtc_close(nvrtc);
  if (status != LAMPAR_OK || given->only_prepare) return status;
  LAMPAR_TRY(lampar_ninja_run(folder, given->jobs));
  printf("%s/%s.pack\n", folder, plan->name);
  return LAMPAR_OK;
}

lampar_status lampar_verb_build(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {.output = "out"};
  const struct argp argp = {
      options, parse, "SPEC", "Compiles the kernels of a spec into a pack and prints its path.",
      NULL,    NULL,  NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  char templates[PATH_MAX];
  lampar_spec spec = {0};
  lampar_plan plan = {0};
  lampar_files read = {0};
  lampar_status status;
  LAMPAR_TRY_OUT(lampar_spec_read(given.spec, &spec, &read));
  if (given.archs != NULL) LAMPAR_TRY_OUT(narrow(&spec, given.archs));
  LAMPAR_TRY_OUT(lampar_template_folder(given.templates, templates));
  LAMPAR_TRY_OUT(lampar_plan_make(&spec, templates, &plan, &read));
  given.templates = templates;
  LAMPAR_TRY_OUT(build(&given, &plan, &read));
out:
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
  lampar_files_free(&read);
  return status;
}
