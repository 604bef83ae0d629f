#include "template/template_run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "base/error.h"
#include "spec/sandbox.h"
#include "template/template.h"
#include "template/template_text.h"

static const char chunks_key[] = "lampar.templates"; /* place -> function, in the registry */

/* A template that is being run; those that wait for it are behind `user`. */
typedef struct lampar_template_frame {
  const char *shown;
  const struct lampar_template_frame *user;
} frame;

/* Upvalues of the functions given to templates. The indentation comes on top of the line's own. */
enum { RUN = 1, ENVIRONMENT, SINK, INDENT, UPVALUES = INDENT };

/* A block is a list with three entries for a line: the template, the line in it, the text. For a
 * part that is to be inserted with the block, the text is a list: name, indentation, argument. */
enum { ENTRIES = 3 };

static void run_chunk(lua_State *L, lampar_template_run *run, const char *folder, const char *name,
                      const char *shown, int argument, lua_Integer indent);
static void run_part(lua_State *L, const char *name, int argument, lua_Integer indent);

static int upvalue(int place) {
  return lua_upvalueindex(place);
}

static lampar_template_run *run_of(lua_State *L) {
  return lua_touserdata(L, upvalue(RUN));
}

/* ---- lines ---- */

/* Takes template, line and text from the stack to the end of the sink's block. */
static void append(lua_State *L, int sink) {
  if (lua_getfield(L, sink, "block") == LUA_TNIL) {
    if (lua_rawlen(L, -2) > 0)
      luaL_error(L, "a text before the first section; a section begins with $map() or its like");
    lua_pop(L, 1 + ENTRIES);
    return;
  }
  lua_insert(L, -1 - ENTRIES);
  const lua_Integer count = luaL_len(L, -1 - ENTRIES);
  for (int i = ENTRIES; i > 0; --i) lua_rawseti(L, -1 - i, count + i);
  lua_pop(L, 1);
}

static void add_indent(luaL_Buffer *text, lua_Integer indent) {
  while (indent-- > 0) luaL_addchar(text, ' ');
}

/* line(line, literal [, value, expression, literal] ...) */
static int put_line(lua_State *L) {
  luaL_checkinteger(L, 1);
  const int last = lua_gettop(L);
  for (int i = 3; i < last; i += 3) {
    if (lua_type(L, i) == LUA_TSTRING || lua_isinteger(L, i)) continue;
    return luaL_error(
        L, "${%s} is a %s; only integers and strings can be substituted", lua_tostring(L, i + 1),
        lua_type(L, i) == LUA_TNUMBER ? "number with a fraction" : luaL_typename(L, i));
  }
  lua_pushstring(L, run_of(L)->top->shown);
  lua_pushvalue(L, 1);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  const bool blank = last == 2 && lua_rawlen(L, 2) == 0;
  if (!blank) add_indent(&text, lua_tointeger(L, upvalue(INDENT)));
  for (int i = 2; i <= last; ++i) {
    if (i % 3 == 1) continue; /* the expression's text */
    lua_pushvalue(L, i);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
  append(L, upvalue(SINK));
  return 0;
}

/* Appends the line whose entries are the three on top of the stack, with more indentation. */
static void append_indented(lua_State *L, lua_Integer indent) {
  luaL_Buffer text;
  const int line = lua_gettop(L);
  luaL_buffinit(L, &text);
  if (lua_rawlen(L, line) > 0) add_indent(&text, indent);
  lua_pushvalue(L, line);
  luaL_addvalue(&text);
  luaL_pushresult(&text);
  lua_replace(L, line);
  append(L, upvalue(SINK));
}

/* The second half of emit(indent)(block). */
static int insert_block(lua_State *L) {
  if (!lua_istable(L, 1) || luaL_len(L, 1) % ENTRIES != 0)
    return luaL_error(L, "$emit: a %s is not a section of a stage", luaL_typename(L, 1));
  const lua_Integer count = luaL_len(L, 1), indent = lua_tointeger(L, upvalue(INDENT));
  for (lua_Integer i = 1; i < count; i += ENTRIES) {
    for (int entry = 0; entry < ENTRIES; ++entry) lua_rawgeti(L, 1, i + entry);
    if (lua_isstring(L, -1)) {
      append_indented(L, indent);
      continue;
    }
    const int part = lua_gettop(L);
    lua_rawgeti(L, part, 1);
    lua_rawgeti(L, part, 2);
    lua_rawgeti(L, part, 3);
    run_part(L, luaL_checkstring(L, part + 1), part + 3, indent + lua_tointeger(L, part + 2));
    lua_pop(L, 2 * ENTRIES);
  }
  return 0;
}

void lampar_template_block_text(lua_State *L, int block, bool line_directives) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  const lua_Integer count = luaL_len(L, block);
  const char *last_shown = "";
  lua_Integer last_line = 0;
  for (lua_Integer i = 1; i < count; i += ENTRIES) {
    if (line_directives) {
      lua_rawgeti(L, block, i);
      lua_rawgeti(L, block, i + 1);
      const char *const shown = lua_tostring(L, -2); /* stays alive in the block */
      const lua_Integer line = lua_tointeger(L, -1);
      lua_pop(L, 2);
      if (line != last_line + 1 || strcmp(shown, last_shown) != 0) {
        lua_pushfstring(L, "#line %I \"%s\"\n", (LUAI_UACINT)line, shown);
        luaL_addvalue(&text);
      }
      last_shown = shown;
      last_line = line;
    }
    lua_rawgeti(L, block, i + 2);
    luaL_addvalue(&text);
    luaL_addchar(&text, '\n');
  }
  luaL_pushresult(&text);
}

/* ---- parts ---- */

/* Runs the part with the environment and the sink of the function that asks. */
static void run_part(lua_State *L, const char *name, int argument, lua_Integer indent) {
  lampar_template_run *const run = run_of(L);
  const char *end = name;
  while (isalnum((unsigned char)*end) || *end == '_') ++end;
  if (end == name || *end != '\0' || end - name > 48)
    luaL_error(L, "$part \"%s\": a part's name is made of letters, digits and '_'", name);

  char own[LAMPAR_SHOWN_BYTES], shared[LAMPAR_SHOWN_BYTES], shown[LAMPAR_SHOWN_BYTES];
  snprintf(own, sizeof own, "parts/%s/%s.cuh.in", run->backend, name);
  snprintf(shared, sizeof shared, "parts/%s.cuh.in", name);
  const bool is_own = lampar_template_exists(run->templates, own);
  if (!is_own && !lampar_template_exists(run->templates, shared))
    luaL_error(L, "$part \"%s\": there is neither templates/%s nor templates/%s", name, own,
               shared);
  snprintf(shown, sizeof shown, "templates/%.100s", is_own ? own : shared);
  for (const frame *f = run->top; f != NULL; f = f->user)
    if (strcmp(f->shown, shown) == 0)
      luaL_error(L, "$part \"%s\": the part uses itself, directly or through another", name);
  lua_pushvalue(L, upvalue(ENVIRONMENT));
  lua_pushvalue(L, upvalue(SINK));
  run_chunk(L, run, run->templates, is_own ? own : shared, shown, argument, indent);
}

/* The second half of part(indent)(name, argument). A part of a stage's section is a part of the
 * kernel: it runs where the section is emitted, and knows what is known there. */
static int insert_part(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 2);
  lua_getfield(L, upvalue(SINK), "defers_parts");
  if (!lua_toboolean(L, -1)) {
    run_part(L, name, 2, lua_tointeger(L, upvalue(INDENT)));
    return 0;
  }
  lua_pushstring(L, run_of(L)->top->shown);
  lua_pushinteger(L, 0);
  lua_createtable(L, 3, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, upvalue(INDENT));
  lua_rawseti(L, -2, 2);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, 3);
  append(L, upvalue(SINK));
  return 0;
}

/* part(indent) and emit(indent) give the function that does it. */
static int indented(lua_State *L, lua_CFunction function) {
  const lua_Integer indent = luaL_checkinteger(L, 1) + lua_tointeger(L, upvalue(INDENT));
  for (int i = RUN; i < INDENT; ++i) lua_pushvalue(L, upvalue(i));
  lua_pushinteger(L, indent);
  lua_pushcclosure(L, function, UPVALUES);
  return 1;
}

static int part(lua_State *L) {
  return indented(L, insert_part);
}

static int emit(lua_State *L) {
  return indented(L, insert_block);
}

/* ---- running ---- */

/* Pushes the template as a function whose environment is the table on top of the stack, which
 * stays there. A template is read and compiled once for all runs of a sandbox. */
static void push_chunk(lua_State *L, lampar_template_run *run, const char *folder, const char *name,
                       const char *shown) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, chunks_key);
  const char *const place = lua_pushfstring(L, "%s/%s", folder != NULL ? folder : "", name);
  if (lua_getfield(L, -2, place) == LUA_TFUNCTION) {
    lua_rotate(L, -3, 1);
    lua_pop(L, 2);
    lua_pushvalue(L, -2);
    lua_setupvalue(L, -2, 1);
    return;
  }
  lua_pop(L, 1);
  size_t size;
  lampar_status status = lampar_template_read(folder, name, &run->held, &size, run->read);
  if (status == LAMPAR_OK) {
    char *const text = run->held;
    run->held = NULL;
    status = lampar_template_compile(shown, text, size, &run->held, &size);
    free(text);
  }
  if (status != LAMPAR_OK) {
    lua_pushstring(L, lampar_last_error());
    lua_error(L);
  }
  lua_pushvalue(L, -3);
  lampar_sandbox_load(L, run->held, size, shown);
  free(run->held);
  run->held = NULL;
  lua_remove(L, -2); /* the copy of the environment */
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, place);
  lua_rotate(L, -3, 1);
  lua_pop(L, 2);
}

/* Takes environment and sink from the stack. `argument` is a place on it, 0: none. */
static void run_chunk(lua_State *L, lampar_template_run *run, const char *folder, const char *name,
                      const char *shown, int argument, lua_Integer indent) {
  const int sink = lua_gettop(L), environment = sink - 1;
  lua_pushvalue(L, environment);
  push_chunk(L, run, folder, name, shown);
  static const lua_CFunction functions[] = {put_line, part, emit};
  for (size_t f = 0; f < sizeof functions / sizeof functions[0]; ++f) {
    lua_pushlightuserdata(L, run);
    lua_pushvalue(L, environment);
    lua_pushvalue(L, sink);
    lua_pushinteger(L, indent);
    lua_pushcclosure(L, functions[f], UPVALUES);
  }
  if (argument != 0) lua_pushvalue(L, argument);
  else lua_pushnil(L);
  const frame here = {shown, run->top};
  run->top = &here;
  lua_call(L, sizeof functions / sizeof functions[0] + 1, 0);
  run->top = here.user;
  lua_settop(L, environment - 1);
}

void lampar_template_run_file(lua_State *L, lampar_template_run *run, const char *folder,
                              const char *name, const char *shown, int environment, int sink) {
  environment = lua_absindex(L, environment);
  sink = lua_absindex(L, sink);
  lua_pushvalue(L, environment);
  lua_pushvalue(L, sink);
  run_chunk(L, run, folder, name, shown, 0, 0);
}

bool lampar_template_run_is_inside(const lampar_template_run *run) {
  return run->top != NULL && run->top->user != NULL;
}
