/* What doctor finds: one line a thing, for people and as JSON. */
#ifndef LAMPAR_DIAGNOSIS_H
#define LAMPAR_DIAGNOSIS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

typedef enum lampar_finding {
  LAMPAR_FINDING_OK,
  LAMPAR_FINDING_NOTE,    /* something is missing, and kernels run without it */
  LAMPAR_FINDING_PROBLEM, /* some kernels, or all, do not run until it is mended */
} lampar_finding;

/* {"findings": [...], "gpus": [...], "links": [...], "kernels": [...]}; the last three hold facts
 * and are filled by who finds them. A lack of memory leaves lines out. */
typedef struct lampar_diagnosis {
  cJSON *root, *findings, *gpus, *links, *kernels;
  bool would_run; /* the verdict */
  bool has_problem;
} lampar_diagnosis;

void lampar_diagnosis_open(lampar_diagnosis *diagnosis);

/* `subject` is a word or two. `advice` says what to do, and is NULL when all is well. */
__attribute__((format(printf, 5, 6))) void
lampar_diagnosis_add(lampar_diagnosis *diagnosis, lampar_finding finding, const char *subject,
                     const char *advice, const char *format, ...);

void lampar_diagnosis_print(const lampar_diagnosis *diagnosis);
void lampar_diagnosis_close(lampar_diagnosis *diagnosis);

#endif
