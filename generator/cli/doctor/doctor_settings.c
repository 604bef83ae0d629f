#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "cli/doctor/doctor.h"
#include "spec/nearest.h"

static const char *const others[] = {"CUDA_VISIBLE_DEVICES", "NCCL_P2P_DISABLE",
                                     "CUDA_DEVICE_MAX_CONNECTIONS"};

static bool is_known(const char *name, size_t length) {
  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i) {
    const char *const known = lampar_variable_name((enum lampar_variable)i);
    if (strlen(known) == length && strncmp(known, name, length) == 0) return true;
  }
  return false;
}

/* The library ignores unknown variables, so a misspelt one would go unnoticed. */
static void look_for_misspelt(lampar_diagnosis *diagnosis) {
  const char *names[LAMPAR_VARIABLE_COUNT];
  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i)
    names[i] = lampar_variable_name((enum lampar_variable)i);
  for (char **entry = environ; *entry != NULL; ++entry) {
    const size_t length = strcspn(*entry, "=");
    if (strncmp(*entry, "LAMPAR_", 7) != 0 || is_known(*entry, length)) continue;
    char name[64];
    const size_t kept = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, *entry, kept);
    name[kept] = '\0';
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "environment",
                         "`lampar env` lists the variables; unset it",
                         "%s is set, but lampar has no such variable; the nearest known is %s",
                         name, lampar_nearest(name, names, LAMPAR_VARIABLE_COUNT));
  }
}

void lampar_doctor_settings(lampar_diagnosis *diagnosis) {
  for (int i = 0; i < LAMPAR_VARIABLE_COUNT; ++i) {
    const enum lampar_variable variable = (enum lampar_variable)i;
    const char *const value = lampar_variable_text(variable);
    if (value == NULL) continue;
    if (variable == LAMPAR_VARIABLE_DISABLE && lampar_variable_is_set(variable))
      lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "environment",
                           "unset it on every rank", "%s=%s: every call goes to NCCL",
                           lampar_variable_name(variable), value);
    else
      lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "environment", NULL, "%s=%s",
                           lampar_variable_name(variable), value);
  }
  for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
    const char *const value = getenv(others[i]);
    if (value != NULL)
      lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "environment", NULL, "%s=%s", others[i],
                           value);
  }
  look_for_misspelt(diagnosis);
}
