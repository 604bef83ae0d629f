#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "offline/output_file.h"
#include "pack/manifest.h"
#include "pack/pack_write.h"

typedef struct arguments {
  const char *plan, *cubins, *compiler, *output, *manifest;
} arguments;

enum { OPTION_CUBINS = 256, OPTION_COMPILER, OPTION_MANIFEST };

static const struct argp_option options[] = {
    {"cubins", OPTION_CUBINS, "FOLDER", 0,
     "Read the compiled kernels from FOLDER, each as NAME.cubin", 0},
    {"compiler", OPTION_COMPILER, "FILE.json", 0,
     "Record the compiler from FILE.json in the manifest: the compiler.json that `lampar build` "
     "writes",
     0},
    {"output", 'o', "FILE.pack", 0, "Write the pack to FILE.pack", 0},
    {"manifest", OPTION_MANIFEST, "FILE.json", 0, "Write the manifest to FILE.json", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_CUBINS: given->cubins = value; return 0;
  case OPTION_COMPILER: given->compiler = value; return 0;
  case OPTION_MANIFEST: given->manifest = value; return 0;
  case 'o': given->output = value; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one PLAN.json");
    given->plan = value;
    return 0;
  case ARGP_KEY_END:
    if (given->plan == NULL) argp_error(state, "PLAN.json is missing");
    if (given->cubins == NULL) argp_error(state, "--cubins is missing");
    if (given->output == NULL) argp_error(state, "-o is missing");
    if (given->manifest == NULL) argp_error(state, "--manifest is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static lampar_status read_cubins(const arguments *given, const lampar_plan *plan,
                                 lampar_cubin *cubins) {
  for (size_t i = 0; i < plan->variant_count; ++i) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&plan->variants[i], name);
    if (asprintf(&cubins[i].file, "%s/%s.cubin", given->cubins, name) < 0) {
      cubins[i].file = NULL;
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", name);
    }
    LAMPAR_TRY(
        lampar_file_read(cubins[i].file, LAMPAR_CODE_BYTES_MAX, &cubins[i].bytes, &cubins[i].size));
  }
  return LAMPAR_OK;
}

static lampar_status write_files(const arguments *given, const lampar_plan *plan,
                                 const lampar_cubin *cubins) {
  const char *const slash = strrchr(given->output, '/');
  uint8_t *bytes = NULL;
  char *compiler = NULL, *manifest = NULL;
  size_t size, compiler_size;
  lampar_status status;
  LAMPAR_TRY_OUT(lampar_pack_write(plan, cubins, &bytes, &size));
  if (given->compiler != NULL)
    LAMPAR_TRY_OUT(lampar_file_read(given->compiler, LAMPAR_COMPILER_FILE_BYTES_MAX, &compiler,
                                    &compiler_size));
  LAMPAR_TRY_OUT(lampar_manifest_make(plan, bytes, size, slash != NULL ? slash + 1 : given->output,
                                      compiler, &manifest));
  LAMPAR_TRY_OUT(lampar_output_file_write(given->output, bytes, size));
  LAMPAR_TRY_OUT(lampar_output_file_write(given->manifest, manifest, strlen(manifest)));
out:
  free(bytes);
  free(compiler);
  free(manifest);
  return status;
}

lampar_status lampar_verb_pack(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {options,
                            parse,
                            "PLAN.json --cubins FOLDER -o FILE.pack --manifest FILE.json",
                            "Puts the compiled kernels of a plan into one pack.",
                            NULL,
                            NULL,
                            NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  lampar_plan plan = {0};
  LAMPAR_TRY(lampar_plan_read(given.plan, &plan));
  lampar_cubin *const cubins = calloc(plan.variant_count, sizeof *cubins);
  lampar_status status = cubins != NULL
                             ? read_cubins(&given, &plan, cubins)
                             : lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", given.plan);
  if (status == LAMPAR_OK) status = write_files(&given, &plan, cubins);
  for (size_t i = 0; cubins != NULL && i < plan.variant_count; ++i) {
    free(cubins[i].file);
    free(cubins[i].bytes);
  }
  free(cubins);
  lampar_plan_free(&plan);
  return status;
}
