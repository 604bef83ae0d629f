/* The kernels that a spec makes. All choices are made here; nothing later looks at the spec. */
#ifndef LAMPAR_PLAN_H
#define LAMPAR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack/variant.h"
#include "spec/spec.h"

enum { LAMPAR_PLAN_SCHEMA = 1 };

/* A combination that was dropped. */
typedef struct lampar_skip {
  char *what; /* "hidden 7168 of model deepseek-r1" */
  char *why;
} lampar_skip;

/* Plain data, owned by the struct. */
typedef struct lampar_plan {
  char name[LAMPAR_PACK_NAME_BYTES];
  bool needs_nvlink;
  char *stages;             /* folder of the spec's own stages, next to the spec; NULL: none */
  char *stages_folder;      /* the path under which it is opened; NULL in a plan that was read */
  lampar_variant *variants; /* sorted by lampar_variant_compare, no two equal; at least one */
  size_t variant_count;
  lampar_skip *skips;
  size_t skip_count;
} lampar_plan;

/* `templates` is the folder of the stage files; NULL: the embedded ones. `read`, unless it is NULL,
 * gets the files that were read, even after an error. Errors: ARGUMENT (a mistake in an
 * epilogue, no kernel left, or more than a pack holds), SYSTEM. On an error the plan is empty. */
lampar_status lampar_plan_make(const lampar_spec *spec, const char *templates, lampar_plan *plan,
                               lampar_files *read);

/* Leaves an empty plan. */
void lampar_plan_free(lampar_plan *plan);

/* Mailboxes of the largest call with that many ranks; 0: there is no kernel for them. */
uint64_t lampar_plan_mailboxes(const lampar_plan *plan, uint32_t world);

/* Columns of the longest name of a kernel, for tables. */
int lampar_plan_name_width(const lampar_plan *plan);

/* The same plan gives the same text. The caller frees it. Errors: SYSTEM. */
lampar_status lampar_plan_to_json(const lampar_plan *plan, char **text);

/* `where` names the text in messages. Accepts only what lampar_plan_to_json writes, so that a
 * damaged or foreign file is found here. Errors: ARGUMENT, SYSTEM. On an error the plan is empty.
 */
lampar_status lampar_plan_from_json(const char *where, const char *text, lampar_plan *plan);

/* The same for a file. */
lampar_status lampar_plan_read(const char *path, lampar_plan *plan);

/* For people: the fields and defaults of the spec, the kernels, each dropped combination and why,
 * the workspace of each rank in bytes. The caller frees it. Errors: SYSTEM. */
lampar_status lampar_plan_explain(const lampar_spec *spec, const lampar_plan *plan, char **text);

#endif
