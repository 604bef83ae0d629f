/* The findings of doctor, one line each, printed for people or as JSON. */
#ifndef LAMPAR_DIAGNOSIS_H
#define LAMPAR_DIAGNOSIS_H

#include <stdbool.h>

#include <cjson/cJSON.h>

typedef enum lampar_finding {
  LAMPAR_FINDING_OK,
  LAMPAR_FINDING_NOTE,    /* something is missing, and kernels run without it */
  LAMPAR_FINDING_PROBLEM, /* some kernels, or all, do not run until it is fixed */
} lampar_finding;

/* {"findings": [...], "gpus": [...], "links": [...], "kernels": [...]}; each part
 * of doctor adds its facts to the last three. */
typedef struct lampar_diagnosis {
  cJSON *root, *findings, *gpus, *links, *kernels;
  bool would_run; /* kernels would run on this machine */
  bool has_problem;
  bool is_incomplete; /* out of memory: something was left out */
} lampar_diagnosis;

void lampar_diagnosis_open(lampar_diagnosis *diagnosis);

/* `subject` is a word or two. `advice` is the next step; NULL when nothing is to be done. */
__attribute__((format(printf, 5, 6))) void
lampar_diagnosis_add(lampar_diagnosis *diagnosis, lampar_finding finding, const char *subject,
                     const char *advice, const char *format, ...);

/* Appends `facts` to one of the lists, and frees it if that fails. `is_complete`: nothing failed
 * while they were written. */
void lampar_diagnosis_add_facts(lampar_diagnosis *diagnosis, cJSON *list, cJSON *facts,
                                bool is_complete);

void lampar_diagnosis_print(const lampar_diagnosis *diagnosis);
void lampar_diagnosis_close(lampar_diagnosis *diagnosis);

#endif
