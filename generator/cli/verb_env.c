#include <argp.h>
#include <stdio.h>

#include "base/environment.h"
#include "cli/verbs.h"

static error_t parse(int key, char *value, struct argp_state *state) {
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  argp_error(state, "%s: env takes no argument", value);
  return 0;
}

lampar_status lampar_verb_env(int argc, char **argv, bool *passed) {
  (void)passed;
  const struct argp argp = {
      NULL, parse,
      "",   "Lists the environment variables that lampar reads, their values and meanings.",
      NULL, NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, NULL);

  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i) {
    const char *const value = lampar_variable_text((enum lampar_variable)i);
    printf("%-21s %-7s %s\n%29s %s\n", lampar_variable_name((enum lampar_variable)i),
           value != NULL ? "set" : "default", value != NULL ? value : "-", "",
           lampar_variable_meaning((enum lampar_variable)i));
  }
  return LAMPAR_OK;
}
