#include "spec/sandbox.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#include "base/error.h"
#include "spec/embedded_texts.h"
#include "spec/nearest.h"

enum {
  HOOK_INSTRUCTIONS = 1000,
  /* A few library functions take long for one instruction, such as an insertion at the front of a
   * long list. No sensible spec or template comes near this limit. */
  SECONDS = 10,
};

static const char embedded_key[] = "lampar.embedded"; /* name -> value of the module */
static const char chunks_key[] = "lampar.chunks";     /* name of each loaded text -> true */

struct lampar_sandbox {
  lua_State *L;
  size_t bytes;
  long instructions;
  struct timespec start;
};

static lampar_sandbox *sandbox_of(lua_State *L) {
  return *(lampar_sandbox **)lua_getextraspace(L);
}

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  lampar_sandbox *sandbox = user;
  if (block == NULL) old_size = 0; /* Lua passes a type tag instead */
  if (new_size == 0) {
    free(block);
    sandbox->bytes -= old_size;
    return NULL;
  }
  const size_t limit = (size_t)LAMPAR_SANDBOX_MEMORY_MIB << 20;
  if (new_size > old_size && new_size - old_size > limit - sandbox->bytes) return NULL;
  void *moved = realloc(block, new_size);
  if (moved != NULL) sandbox->bytes += new_size - old_size;
  return moved;
}

static void count_instructions(lua_State *L, lua_Debug *unused) {
  (void)unused;
  lampar_sandbox *sandbox = sandbox_of(L);
  sandbox->instructions += HOOK_INSTRUCTIONS;
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const bool too_many = sandbox->instructions > LAMPAR_SANDBOX_INSTRUCTIONS;
  if (!too_many && now.tv_sec - sandbox->start.tv_sec <= SECONDS) return;
  luaL_where(L, 0);
  lua_pushfstring(L, "stopped after %d %s; is there an endless loop?",
                  too_many ? LAMPAR_SANDBOX_INSTRUCTIONS : SECONDS,
                  too_many ? "instructions" : "seconds");
  lua_concat(L, 2);
  lua_error(L);
}

/* ---- the tool's own modules ---- */

static int require_embedded(lua_State *L) {
  lampar_sandbox_embedded(L, luaL_checkstring(L, 1));
  return 1;
}

/* function f(path, line, ...) -> function (...) that passes f the place of the call. */
static int call_with_place(lua_State *L) {
  lua_Debug caller;
  const bool known = lua_getstack(L, 1, &caller) && lua_getinfo(L, "Sl", &caller);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushstring(L, known && caller.source[0] == '@' ? caller.source + 1 : "?");
  lua_pushinteger(L, known ? caller.currentline : 0);
  lua_rotate(L, 1, 3);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* nearest(word, names): the name that the user probably meant. */
static int nearest(lua_State *L) {
  const char *word = luaL_checkstring(L, 1);
  const size_t count = (size_t)luaL_len(L, 2);
  const char **names = lua_newuserdatauv(L, count * sizeof *names, 0);
  for (size_t i = 0; i < count; ++i) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    luaL_checktype(L, -1, LUA_TSTRING);
    names[i] = lua_tostring(L, -1); /* stays alive in the list */
    lua_pop(L, 1);
  }
  lua_pushstring(L, lampar_nearest(word, names, count));
  return 1;
}

static int with_place(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_pushcclosure(L, call_with_place, 1);
  return 1;
}

void lampar_sandbox_embedded(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, embedded_key);
  if (lua_getfield(L, -1, name) == LUA_TNIL) {
    lua_pop(L, 1);
    const char *const source = lua_pushfstring(L, "=%s.lua", name);
    const lampar_embedded_text *file = lampar_embedded_find(lampar_embedded_lua, source + 1);
    if (file == NULL) luaL_error(L, "there is no module %s inside", name);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): luaL_error does not return */
    if (luaL_loadbufferx(L, file->text, file->size, source, "t") != LUA_OK) lua_error(L);
    lua_call(L, 0, 1);
    lua_remove(L, -2); /* the chunk's name */
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, name);
  }
  lua_remove(L, -2);
}

/* ---- texts from outside ---- */

void lampar_sandbox_environment(lua_State *L) {
  lampar_sandbox_embedded(L, "sandbox");
  lua_call(L, 0, 1);
}

void lampar_sandbox_load(lua_State *L, const char *text, size_t size, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, chunks_key);
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
  if (size > 0 && text[0] == LUA_SIGNATURE[0])
    luaL_error(L, "%s: is compiled Lua, which is not accepted; give the text", name);
  lua_pushfstring(L, "@%s", name);
  if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
  lua_remove(L, -2);
  lua_pushvalue(L, -2);
  lua_setupvalue(L, -2, 1);
}

/* ---- running ---- */

static int message_text(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING)
    lua_pushfstring(L, "an error was raised with a %s instead of a text", luaL_typename(L, 1));
  return 1;
}

/* A pcall of sandbox.lua passes the error on as an ordinary one. */
static bool is_out_of_memory(lua_State *L) {
  return strcmp(lua_tostring(L, -1), "not enough memory") == 0;
}

/* Lua shortens a long path to "...end/of/path.lua:3: text": pushes the message with the whole path.
 */
static int whole_path(lua_State *L) {
  const char *message = luaL_checkstring(L, 1);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, chunks_key);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    size_t length;
    const char *name = lua_tolstring(L, -2, &length);
    for (const char *dots = strstr(message, "..."); dots != NULL; dots = strstr(dots + 1, "...")) {
      const char *tail = dots + 3;
      const size_t tail_length = strcspn(tail, ":");
      if (tail[tail_length] != ':' || tail_length == 0 || tail_length > length) continue;
      if (strncmp(name + length - tail_length, tail, tail_length) != 0) continue;
      lua_pushlstring(L, message, (size_t)(dots - message));
      lua_pushfstring(L, "%s%s", name, tail + tail_length);
      lua_concat(L, 2);
      return 1;
    }
  }
  lua_settop(L, 1);
  return 1;
}

lampar_status lampar_sandbox_run(lampar_sandbox *sandbox, const char *subject, lua_CFunction body,
                                 void *data) {
  lua_State *L = sandbox->L;
  sandbox->instructions = 0;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &sandbox->start);
  lua_settop(L, 0);
  lua_pushcfunction(L, message_text);
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, data);
  const int result = lua_pcall(L, 1, 0, 1);
  lampar_status status = LAMPAR_OK;
  if (result == LUA_ERRMEM || (result == LUA_ERRRUN && is_out_of_memory(L))) {
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "%s: stopped because it needs more than %d MiB of memory", subject,
                         LAMPAR_SANDBOX_MEMORY_MIB);
  } else if (result != LUA_OK) {
    lua_pushcfunction(L, whole_path);
    lua_pushvalue(L, -2);
    lua_pcall(L, 1, 1, 0);
    const char *message = lua_tostring(L, -1);
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s", message != NULL ? message : subject);
  }
  lua_settop(L, 0);
  return status;
}

static int open_libraries(lua_State *L) {
  luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
  luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
  luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
  luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
  static const char *const unwanted[] = {"load", "loadfile", "dofile", "collectgarbage", "print"};
  for (size_t i = 0; i < sizeof unwanted / sizeof unwanted[0]; ++i) {
    lua_pushnil(L);
    lua_setglobal(L, unwanted[i]);
  }
  lua_register(L, "require", require_embedded);
  lua_register(L, "with_place", with_place);
  lua_register(L, "nearest", nearest);
  return 0;
}

lampar_status lampar_sandbox_open(lampar_sandbox **out) {
  lampar_sandbox *sandbox = calloc(1, sizeof *sandbox);
  if (sandbox != NULL) sandbox->L = lua_newstate(allocate, sandbox);
  if (sandbox == NULL || sandbox->L == NULL) {
    free(sandbox);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a Lua state");
  }
  *(lampar_sandbox **)lua_getextraspace(sandbox->L) = sandbox;
  lua_sethook(sandbox->L, count_instructions, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
  const lampar_status status = lampar_sandbox_run(sandbox, "sandbox", open_libraries, NULL);
  if (status == LAMPAR_OK) *out = sandbox;
  else lampar_sandbox_close(sandbox);
  return status;
}

void lampar_sandbox_close(lampar_sandbox *sandbox) {
  if (sandbox == NULL) return;
  lua_close(sandbox->L);
  free(sandbox);
}
