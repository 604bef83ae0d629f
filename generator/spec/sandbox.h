/* A Lua state that can compute and do nothing else: no files, no clock, no random order, limits on
 * memory and work. Specs and templates run in it. It guards against mistakes and careless specs; a
 * template still becomes code that runs on the GPU. */
#ifndef LAMPAR_SANDBOX_H
#define LAMPAR_SANDBOX_H

#include <stddef.h>

#include <lua.h>

#include "lampar/lampar.h"

enum {
  LAMPAR_SANDBOX_MEMORY_MIB = 64,
  LAMPAR_SANDBOX_INSTRUCTIONS = 20000000, /* of one run */
};

typedef struct lampar_sandbox lampar_sandbox;

/* Errors: SYSTEM. */
lampar_status lampar_sandbox_open(lampar_sandbox **sandbox);
void lampar_sandbox_close(lampar_sandbox *sandbox);

/* Calls `body` with `data` as its only argument, a light userdata. An error inside is returned as
 * ARGUMENT with Lua's message; `subject` starts messages for which Lua has no place. */
lampar_status lampar_sandbox_run(lampar_sandbox *sandbox, const char *subject, lua_CFunction body,
                                 void *data);

/* The rest is for use inside a body, and raises Lua errors. */

/* Pushes the value of generator/lua/NAME.lua, which is embedded. */
void lampar_sandbox_embedded(lua_State *L, const char *name);

/* Pushes a new table with the chosen functions; reading a name that it does not have is an error.
 */
void lampar_sandbox_environment(lua_State *L);

/* Pushes the text as a function with the table on top of the stack, which stays there, as its
 * environment. Messages call it `name`. Refuses bytecode. */
void lampar_sandbox_load(lua_State *L, const char *text, size_t size, const char *name);

#endif
