/* The stages of an epilogue: what their files declare, and the texts of their sections. Stage files
 * are templates/epilogues/NAME.cu.in and NAME.cu.in of a spec's own folder; docs/stages.md says how
 * they are written. */
#ifndef LAMPAR_STAGES_H
#define LAMPAR_STAGES_H

#include "pack/variant.h"
#include "template/template_run.h"

/* A folder of a spec's own stages; zeros: none. */
typedef struct lampar_own_stages {
  const char *folder; /* as it is opened */
  const char *shown;  /* as the spec names it; messages and #line directives say this */
} lampar_own_stages;

typedef enum lampar_stages_result {
  LAMPAR_STAGES_MADE,
  LAMPAR_STAGES_REFUSED,  /* the stages make no sense for this key; for another they may */
  LAMPAR_STAGES_MISTAKEN, /* a stage or an option that does not exist, or a wrong value */
} lampar_stages_result;

/* For use inside of a sandbox's body. `key` says arch, world, dtype, hidden, rounding and
 * algorithm. `text` is the epilogue, as a spec writes it ("rmsnorm.weight=f32") or as a variant
 * does
 * ("rmsnorm.weight_f32"); `weight_dtype` is the default of all weight options, NULL: each stage's.
 *
 * MADE: pushes a table with `text` (as a variant writes it), `stages`, `schedule` and `operands`,
 * lists for templates. Otherwise pushes a message. What is wrong inside of a stage file is a Lua
 * error. */
lampar_stages_result lampar_stages_push(lua_State *L, lampar_template_run *run,
                                        const lampar_own_stages *own, const lampar_variant *key,
                                        const char *text, const char *weight_dtype);

/* Copies text and operands of the table on top of the stack, which stays there, into the variant.
 */
void lampar_stages_copy(lua_State *L, lampar_variant *variant);

#endif
