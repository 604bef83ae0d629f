/* Templates at work, inside of a sandbox's body: Lua errors are raised. Their lines go into blocks,
 * and a block becomes a source. */
#ifndef LAMPAR_TEMPLATE_RUN_H
#define LAMPAR_TEMPLATE_RUN_H

#include <stdbool.h>

#include <lua.h>

#include "spec/files.h"

enum { LAMPAR_SHOWN_BYTES = 128 };

/* What a run of templates needs and knows. `held` is freed by the owner after the body, which a Lua
 * error may leave at any place. */
typedef struct lampar_template_run {
  const char *templates; /* folder; NULL: those carried inside */
  const char *backend;   /* where parts are looked for first: "ptx", "emu"; NULL: none are run */
  lampar_files *read;    /* gets the files; NULL: nobody asks */
  char *held;
  const struct lampar_template_frame *top;
} lampar_template_run;

/* Runs the template `name` of `folder`, which messages call `shown`. `environment` and `sink` are
 * places on the stack; the lines go to the end of the block in the sink's field "block". With its
 * field "defers_parts" set, $part leaves a place in the block, and the part is run where the block
 * is emitted. */
void lampar_template_run_file(lua_State *L, lampar_template_run *run, const char *folder,
                              const char *name, const char *shown, int environment, int sink);

/* Whether the template that runs was inserted into another. */
bool lampar_template_run_is_inside(const lampar_template_run *run);

/* Pushes the text of the block at a place on the stack. With `line_directives` the compiler's
 * messages will point at the templates. */
void lampar_template_block_text(lua_State *L, int block, bool line_directives);

#endif
