/* The files of generator/lua/, carried inside as text: bytecode depends on the Lua that made it. */
#ifndef LAMPAR_EMBEDDED_LUA_H
#define LAMPAR_EMBEDDED_LUA_H

#include <stddef.h>

typedef struct lampar_embedded_lua {
  const char *name; /* "prelude"; NULL ends the table */
  const char *text;
  size_t size;
} lampar_embedded_lua;

extern const lampar_embedded_lua lampar_embedded_lua_files[];

#endif
