#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"
#include "cli/doctor/doctor.h"
#include "cli/verbs.h"
#include "plan/json_text.h"

typedef struct arguments {
  const char *pack;
  bool json;
} arguments;

enum { OPTION_JSON = 256 };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print as JSON, with every link and every kernel", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_JSON: given->json = true; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one PACK");
    given->pack = value;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static bool has_working_pair(const lampar_machine *machine) {
  for (int i = 0; i < machine->gpu_count; ++i)
    if ((machine->works[i] & ~(1u << i)) != 0) return true;
  return false;
}

static void examine(lampar_diagnosis *diagnosis, lampar_pack *pack) {
  lampar_nvrtc *nvrtc = NULL;
  lampar_machine machine = {0};
  lampar_doctor_settings(diagnosis);
  lampar_doctor_libraries(diagnosis, &nvrtc);
  lampar_doctor_cache(diagnosis);
  lampar_doctor_machine(diagnosis, nvrtc, &machine);
  lampar_doctor_links(diagnosis, pack, &machine);
  const bool works =
      pack != NULL ? lampar_doctor_pack(diagnosis, pack, &machine) : has_working_pair(&machine);
  diagnosis->would_run = works && !lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE);
  lampar_ranks_destroy(machine.ranks);
  lampar_nvrtc_close(nvrtc);
}

static lampar_status print_json(lampar_diagnosis *diagnosis) {
  char *text;
  cJSON *const root = diagnosis->root;
  diagnosis->root = NULL;
  const bool good = cJSON_AddBoolToObject(root, "would_run", diagnosis->would_run) != NULL;
  LAMPAR_TRY(lampar_json_text(root, good, &text));
  fputs(text, stdout);
  free(text);
  return LAMPAR_OK;
}

lampar_status lampar_verb_doctor(int argc, char **argv, bool *passed) {
  arguments given = {0};
  const struct argp argp = {
      options,
      parse,
      "[PACK]",
      "Reports why kernels would or would not run on this machine: libraries, "
      "GPUs, links, settings, and the kernels of PACK. Exit status 1: none "
      "would run.",
      NULL,
      NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  lampar_pack *pack = NULL;
  lampar_diagnosis diagnosis;
  if (given.pack != NULL) LAMPAR_TRY(lampar_pack_open(given.pack, &pack));
  lampar_diagnosis_open(&diagnosis);
  examine(&diagnosis, pack);
  *passed = diagnosis.would_run;
  lampar_status status = LAMPAR_OK;
  if (diagnosis.is_incomplete) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the diagnosis");
  } else if (given.json) {
    status = print_json(&diagnosis);
  } else {
    lampar_diagnosis_print(&diagnosis);
    puts(!*passed                ? "Kernels would not run here: see PROBLEM above."
         : diagnosis.has_problem ? "Kernels would run here, but not all: see PROBLEM above."
                                 : "Kernels would run here.");
  }
  lampar_diagnosis_close(&diagnosis);
  lampar_pack_close(pack);
  return status;
}
