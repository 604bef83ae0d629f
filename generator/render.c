#include "render.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "error.h"
#include "sandbox.h"
#include "template.h"

enum { FILE_BYTES_MAX = 1 << 20, PATH_BYTES = 4096, SHOWN_BYTES = 128 };

/* A template that is being run; those that wait for it are behind `user`. */
typedef struct frame {
  const char *shown; /* "templates/parts/row.cuh.in" */
  const struct frame *user;
} frame;

typedef struct rendering {
  const char *templates;
  const lampar_variant *variant;
  bool line_directives;
  lampar_files *read;
  char *source;
  char *held; /* text on its way into Lua, which may leave the function by an error */
  const frame *top;
  bool has_params;
  char last_shown[SHOWN_BYTES]; /* where the line before came from */
  lua_Integer last_line;
} rendering;

/* Places on the stack of the protected body, and upvalues of the functions given to templates. */
enum { RENDERING = 1, LINES = 2, ENVIRONMENT = 3, GIVEN = 4 };

static void run_template(lua_State *L, const char *path, const char *shown, int indent);

static int upvalue(int place) {
  return lua_upvalueindex(place);
}

static void add_line(lua_State *L, int lines) {
  lua_rawseti(L, lines, luaL_len(L, lines) + 1);
}

/* emit(line, literal [, value, expression, literal] ...); upvalue 5: indentation. */
static int emit(lua_State *L) {
  rendering *r = lua_touserdata(L, upvalue(RENDERING));
  const lua_Integer line = luaL_checkinteger(L, 1);
  const int last = lua_gettop(L);
  for (int i = 3; i < last; i += 3) {
    if (lua_type(L, i) == LUA_TSTRING || lua_isinteger(L, i)) continue;
    return luaL_error(
        L, "${%s} is a %s; only integers and strings can be substituted", lua_tostring(L, i + 1),
        lua_type(L, i) == LUA_TNUMBER ? "number with a fraction" : luaL_typename(L, i));
  }
  if (r->line_directives) {
    const bool follows = line == r->last_line + 1 && strcmp(r->top->shown, r->last_shown) == 0;
    if (!follows) {
      lua_pushfstring(L, "#line %d \"%s\"", (int)line, r->top->shown);
      add_line(L, upvalue(LINES));
    }
    snprintf(r->last_shown, sizeof r->last_shown, "%s", r->top->shown);
    r->last_line = line;
  }
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  const bool blank = last == 2 && lua_rawlen(L, 2) == 0;
  for (lua_Integer i = blank ? 0 : lua_tointeger(L, upvalue(5)); i > 0; --i)
    luaL_addchar(&text, ' ');
  for (int i = 2; i <= last; ++i) {
    if (i % 3 == 1) continue; /* the expression's text */
    lua_pushvalue(L, i);
    luaL_addvalue(&text);
  }
  luaL_pushresult(&text);
  add_line(L, upvalue(LINES));
  return 0;
}

/* The second half of part(indent)(name); upvalue 5: indentation. */
static int insert_part(lua_State *L) {
  rendering *r = lua_touserdata(L, upvalue(RENDERING));
  const char *name = luaL_checkstring(L, 1);
  const char *end = name;
  while (isalnum((unsigned char)*end) || *end == '_') ++end;
  if (end == name || *end != '\0' || end - name > 48)
    return luaL_error(L, "$part \"%s\": a part's name is made of letters, digits and '_'", name);

  const char *backend = r->variant->arch == LAMPAR_ARCH_EMU ? "emu" : "ptx";
  char own[SHOWN_BYTES], shared[SHOWN_BYTES], path[PATH_BYTES];
  snprintf(own, sizeof own, "parts/%s/%s.cuh.in", backend, name);
  snprintf(shared, sizeof shared, "parts/%s.cuh.in", name);
  const char *const places[] = {own, shared};
  for (size_t i = 0; i < 2; ++i) {
    snprintf(path, sizeof path, "%s/%s", r->templates, places[i]);
    if (access(path, F_OK) != 0) continue;
    char shown[SHOWN_BYTES];
    snprintf(shown, sizeof shown, "templates/%.100s", places[i]);
    for (const frame *f = r->top; f; f = f->user)
      if (strcmp(f->shown, shown) == 0)
        return luaL_error(L, "$part \"%s\": the part uses itself, directly or through another",
                          name);
    run_template(L, path, shown, (int)lua_tointeger(L, upvalue(5)));
    return 0;
  }
  return luaL_error(L, "$part \"%s\": there is neither templates/%s nor templates/%s", name, own,
                    shared);
}

static int part(lua_State *L) {
  const lua_Integer indent = luaL_checkinteger(L, 1) + lua_tointeger(L, upvalue(5));
  for (int i = RENDERING; i <= GIVEN; ++i) lua_pushvalue(L, upvalue(i));
  lua_pushinteger(L, indent);
  lua_pushcclosure(L, insert_part, 5);
  return 1;
}

/* params "a b c": makes exactly the given parameters known under their names. */
static int params(lua_State *L) {
  rendering *r = lua_touserdata(L, upvalue(RENDERING));
  const char *at = luaL_checkstring(L, 1);
  if (r->top->user) return luaL_error(L, "$params belongs into %s", "templates/oneshot.cu.in");
  if (r->has_params) return luaL_error(L, "there is a second $params");
  r->has_params = true;
  lua_newtable(L); /* named */
  const int named = lua_gettop(L);
  while (*(at += strspn(at, " ")) != '\0') {
    lua_pushlstring(L, at, strcspn(at, " "));
    at += strcspn(at, " ");
    lua_pushvalue(L, -1);
    if (lua_rawget(L, upvalue(GIVEN)) == LUA_TNIL)
      return luaL_error(L, "parameter %s is not given", lua_tostring(L, -2));
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, upvalue(ENVIRONMENT));
    lua_pushboolean(L, 1);
    lua_rawset(L, named);
  }
  for (lua_pushnil(L); lua_next(L, upvalue(GIVEN)); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    if (lua_rawget(L, named) == LUA_TNIL)
      return luaL_error(L, "parameter %s is given, but $params does not name it",
                        lua_tostring(L, -3));
    lua_pop(L, 1);
  }
  return 0;
}

/* Runs the file; LINES, ENVIRONMENT and GIVEN come from the upvalues, or from the protected body's
 * stack for the first template. */
static void run_template(lua_State *L, const char *path, const char *shown, int indent) {
  const bool first = indent < 0;
  int places[5];
  for (int i = RENDERING; i <= GIVEN; ++i) places[i] = first ? i : upvalue(i);
  rendering *r = lua_touserdata(L, places[RENDERING]);
  size_t size;
  if (lampar_file_read(path, FILE_BYTES_MAX, &r->held, &size) != LAMPAR_OK ||
      lampar_files_add(r->read, path) != LAMPAR_OK)
    luaL_error(L, "%s", lampar_last_error());
  char *chunk;
  const lampar_status status = lampar_template_compile(shown, r->held, size, &chunk, &size);
  free(r->held);
  r->held = NULL;
  if (status != LAMPAR_OK) {
    lua_pushstring(L, lampar_last_error());
    lua_error(L);
  }
  r->held = chunk;
  lua_pushvalue(L, places[ENVIRONMENT]);
  lampar_sandbox_load(L, chunk, size, shown);
  free(r->held);
  r->held = NULL;

  static const lua_CFunction functions[] = {emit, part};
  for (size_t f = 0; f < 2; ++f) {
    for (int i = RENDERING; i <= GIVEN; ++i) lua_pushvalue(L, places[i]);
    lua_pushinteger(L, first ? 0 : indent);
    lua_pushcclosure(L, functions[f], 5);
  }
  const frame here = {shown, r->top};
  r->top = &here;
  lua_call(L, 2, 0);
  r->top = here.user;
  lua_pop(L, 1);
}

static void set_text(lua_State *L, int table, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, table, name);
}

static void set_number(lua_State *L, int table, const char *name, uint32_t number) {
  lua_pushinteger(L, number);
  lua_setfield(L, table, name);
}

static int render(lua_State *L) {
  rendering *r = lua_touserdata(L, RENDERING);
  const lampar_variant *variant = r->variant;
  static const char *const triggers[] = {"off", "early", "exit"};
  lua_newtable(L);
  lampar_sandbox_environment(L);
  lua_newtable(L);
  set_text(L, GIVEN, "arch", lampar_arch_name(variant->arch));
  set_number(L, GIVEN, "world", variant->world);
  set_text(L, GIVEN, "dtype", lampar_dtype_name(variant->dtype));
  set_number(L, GIVEN, "hidden", variant->hidden);
  set_number(L, GIVEN, "looping", variant->looping);
  set_number(L, GIVEN, "threads", variant->threads);
  set_text(L, GIVEN, "trigger", triggers[variant->trigger]);
  set_number(L, GIVEN, "watchdog_ms", variant->watchdog_ms);

  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  set_text(L, ENVIRONMENT, "name", name);
  set_text(L, ENVIRONMENT, "lampar_version", lampar_version());
  for (int i = RENDERING; i <= GIVEN; ++i) lua_pushvalue(L, i);
  lua_pushcclosure(L, params, GIVEN);
  lua_setfield(L, ENVIRONMENT, "params");

  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/oneshot.cu.in", r->templates);
  run_template(L, path, "templates/oneshot.cu.in", -1);
  if (!r->has_params) luaL_error(L, "templates/oneshot.cu.in: has no $params line");

  luaL_Buffer text;
  luaL_buffinit(L, &text);
  const lua_Integer lines = luaL_len(L, LINES);
  for (lua_Integer i = 1; i <= lines; ++i) {
    lua_rawgeti(L, LINES, i);
    luaL_addvalue(&text);
    luaL_addchar(&text, '\n');
  }
  luaL_pushresult(&text);
  r->source = strdup(lua_tostring(L, -1));
  if (!r->source) luaL_error(L, "out of memory");
  return 0;
}

lampar_status lampar_render(const char *templates, const lampar_variant *variant,
                            const lampar_render_options *options, char **source,
                            lampar_files *read) {
  if (!lampar_arch_name(variant->arch) || !lampar_dtype_has_kernels(variant->dtype) ||
      variant->trigger > LAMPAR_TRIGGER_EXIT)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "the variant to render has a damaged arch, dtype or trigger");
  if (strlen(templates) > PATH_BYTES - SHOWN_BYTES)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%.64s...: the path is too long", templates);
  lampar_sandbox *sandbox;
  LAMPAR_TRY(lampar_sandbox_open(&sandbox));
  rendering r = {.templates = templates,
                 .variant = variant,
                 .line_directives = options && options->line_directives,
                 .read = read};
  const lampar_status status = lampar_sandbox_run(sandbox, templates, render, &r);
  lampar_sandbox_close(sandbox);
  free(r.held);
  if (status == LAMPAR_OK) *source = r.source;
  return status;
}
