#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "offline/output_file.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "spec/hf_config.h"

typedef struct arguments {
  const char *config, *output, *archs, *worlds;
  lampar_hf_request request;
} arguments;

enum { OPTION_CONFIG = 256, OPTION_TP, OPTION_ARCH, OPTION_WIDTH, OPTION_DTYPE, OPTION_NAME };

static const struct argp_option options[] = {
    {"config", OPTION_CONFIG, "FILE", 0, "Read the model's config.json from FILE (required)", 0},
    {"tp", OPTION_TP, "N,..", 0, "Numbers of ranks (default: 2,4,8)", 0},
    {"arch", OPTION_ARCH, "ARCH,..", 0, "GPU archs (default: all that lampar supports)", 0},
    {"hidden", OPTION_WIDTH, "N", 0, "Hidden size to use if the config has several", 0},
    {"dtype", OPTION_DTYPE, "DTYPE", 0,
     "Dtype of the activations: bf16, f16 or f32 (default: the config's)", 0},
    {"name", OPTION_NAME, "NAME", 0, "Name of the pack (default: the config's model_type)", 0},
    {NULL, 'o', "FILE", 0, "Write the spec to FILE (default: standard output)", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  char *end;
  unsigned long number;
  uint32_t dtype;
  switch (key) {
  case OPTION_CONFIG: given->config = value; return 0;
  case OPTION_TP: given->worlds = value; return 0;
  case OPTION_ARCH: given->archs = value; return 0;
  case OPTION_WIDTH:
    number = strtoul(value, &end, 10);
    if (*end != '\0' || number == 0 || number > UINT32_MAX)
      argp_error(state, "--hidden %s: expected a number of elements", value);
    given->request.hidden = (uint32_t)number;
    return 0;
  case OPTION_DTYPE:
    if (!lampar_dtype_parse(value, &dtype) || !lampar_dtype_has_kernels(dtype))
      argp_error(state, "--dtype %s: expected bf16, f16 or f32", value);
    given->request.dtype = value;
    return 0;
  case OPTION_NAME: given->request.name = value; return 0;
  case 'o': given->output = value; return 0;
  case ARGP_KEY_ARG: argp_error(state, "%s: name the file with --config", value); return 0;
  case ARGP_KEY_END:
    if (given->config == NULL) argp_error(state, "--config is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static bool parse_world(const char *text, uint32_t *world) {
  char *end;
  const unsigned long number = strtoul(text, &end, 10);
  *world = (uint32_t)number;
  return *end == '\0' && number >= 2 && number <= LAMPAR_WORLD_MAX;
}

/* Parses "2,4,8"; each item may occur once. */
static lampar_status parse_list(const char *option, const char *list, const char *of,
                                bool (*parse_item)(const char *, uint32_t *), uint32_t *numbers,
                                size_t room, size_t *count) {
  for (const char *at = list;; ++at) {
    char item[32];
    const size_t length = strcspn(at, ",");
    snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), at);
    uint32_t number;
    if (!parse_item(item, &number) || *count == room)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s '%s': %s", option, item, of);
    for (size_t i = 0; i < *count; ++i)
      if (numbers[i] == number)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s has %s twice", option, item);
    numbers[(*count)++] = number;
    at += length;
    if (*at == '\0') return LAMPAR_OK;
  }
}

static lampar_status complete(arguments *given) {
  lampar_hf_request *const request = &given->request;
  const char *const worlds = given->worlds != NULL ? given->worlds : "2,4,8";
  LAMPAR_TRY(parse_list("--tp", worlds, "2 to 16 ranks", parse_world, request->worlds,
                        LAMPAR_WORLD_MAX, &request->world_count));
  if (given->archs != NULL)
    return parse_list("--arch", given->archs, "an arch, such as sm_90", lampar_arch_parse,
                      request->archs, LAMPAR_HF_ARCHS_MAX, &request->arch_count);
  for (size_t i = 0; lampar_archs[i] != 0; ++i)
    if (lampar_archs[i] != LAMPAR_ARCH_EMU) request->archs[request->arch_count++] = lampar_archs[i];
  return LAMPAR_OK;
}

lampar_status lampar_verb_init(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {
      options,
      parse,
      "",
      "Writes a spec for a model from its Hugging Face config.json. If the config is ambiguous, "
      "it asks for an option; it prints every assumption.",
      NULL,
      NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  char *spec = NULL, *remarks = NULL;
  LAMPAR_TRY(complete(&given));
  lampar_status status = lampar_hf_config_spec(given.config, &given.request, &spec, &remarks);
  if (status == LAMPAR_OK) {
    fputs(remarks, stderr);
    if (given.output == NULL) fputs(spec, stdout);
    else status = lampar_output_file_write(given.output, spec, strlen(spec));
  }
  free(spec);
  free(remarks);
  return status;
}
