#include "cli/doctor/diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1400 };

static const char *const states[] = {
    [LAMPAR_FINDING_OK] = "ok",
    [LAMPAR_FINDING_NOTE] = "note",
    [LAMPAR_FINDING_PROBLEM] = "PROBLEM",
};

void lampar_diagnosis_open(lampar_diagnosis *diagnosis) {
  *diagnosis = (lampar_diagnosis){.root = cJSON_CreateObject()};
  const bool good = cJSON_AddNumberToObject(diagnosis->root, "schema_version", 1) != NULL;
  diagnosis->findings = cJSON_AddArrayToObject(diagnosis->root, "findings");
  diagnosis->gpus = cJSON_AddArrayToObject(diagnosis->root, "gpus");
  diagnosis->links = cJSON_AddArrayToObject(diagnosis->root, "links");
  diagnosis->kernels = cJSON_AddArrayToObject(diagnosis->root, "kernels");
  diagnosis->is_incomplete = !good || diagnosis->findings == NULL || diagnosis->gpus == NULL ||
                             diagnosis->links == NULL || diagnosis->kernels == NULL;
}

void lampar_diagnosis_add_facts(lampar_diagnosis *diagnosis, cJSON *list, cJSON *facts,
                                bool is_complete) {
  if (is_complete && cJSON_AddItemToArray(list, facts)) return;
  cJSON_Delete(facts);
  diagnosis->is_incomplete = true;
}

void lampar_diagnosis_add(lampar_diagnosis *diagnosis, lampar_finding finding, const char *subject,
                          const char *advice, const char *format, ...) {
  char text[LINE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);

  cJSON *const line = cJSON_CreateObject();
  const bool good = line != NULL && cJSON_AddStringToObject(line, "subject", subject) != NULL &&
                    cJSON_AddStringToObject(line, "state", states[finding]) != NULL &&
                    cJSON_AddStringToObject(line, "text", text) != NULL &&
                    (advice == NULL || cJSON_AddStringToObject(line, "advice", advice) != NULL);
  lampar_diagnosis_add_facts(diagnosis, diagnosis->findings, line, good);
  if (finding == LAMPAR_FINDING_PROBLEM) diagnosis->has_problem = true;
}

static const char *text_of(const cJSON *line, const char *field) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, field));
}

void lampar_diagnosis_print(const lampar_diagnosis *diagnosis) {
  const char *last = "";
  const cJSON *line;
  cJSON_ArrayForEach(line, diagnosis->findings) {
    const char *const subject = text_of(line, "subject"), *const advice = text_of(line, "advice");
    printf("%-12s %-8s %s\n", strcmp(subject, last) == 0 ? "" : subject, text_of(line, "state"),
           text_of(line, "text"));
    if (advice != NULL) printf("%21s -> %s\n", "", advice);
    last = subject;
  }
}

void lampar_diagnosis_close(lampar_diagnosis *diagnosis) {
  cJSON_Delete(diagnosis->root);
}
