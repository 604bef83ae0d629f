#include "render.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "error.h"
#include "sandbox.h"
#include "template.h"
#include "template_text.h"

enum { SHOWN_BYTES = 128 };

struct lampar_renderer {
  lampar_sandbox *sandbox;
  char *templates; /* folder; NULL: those carried inside */
};

static const char chunks_key[] = "lampar.templates"; /* name -> function, in the registry */

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

static void run_template(lua_State *L, const char *name, const char *shown, int indent);

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
  char own[SHOWN_BYTES], shared[SHOWN_BYTES], shown[SHOWN_BYTES];
  snprintf(own, sizeof own, "parts/%s/%s.cuh.in", backend, name);
  snprintf(shared, sizeof shared, "parts/%s.cuh.in", name);
  const bool is_own = lampar_template_exists(r->templates, own);
  if (!is_own && !lampar_template_exists(r->templates, shared))
    return luaL_error(L, "$part \"%s\": there is neither templates/%s nor templates/%s", name, own,
                      shared);
  snprintf(shown, sizeof shown, "templates/%.100s", is_own ? own : shared);
  for (const frame *f = r->top; f; f = f->user)
    if (strcmp(f->shown, shown) == 0)
      return luaL_error(L, "$part \"%s\": the part uses itself, directly or through another", name);
  run_template(L, is_own ? own : shared, shown, (int)lua_tointeger(L, upvalue(5)));
  return 0;
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

/* Pushes the template as a function whose environment is the table on top of the stack, which
 * stays there. A template is read and compiled once for all variants. */
static void push_template(lua_State *L, rendering *r, const char *name, const char *shown) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, chunks_key);
  if (lua_getfield(L, -1, name) == LUA_TFUNCTION) {
    lua_remove(L, -2);
    lua_pushvalue(L, -2);
    lua_setupvalue(L, -2, 1);
    return;
  }
  lua_pop(L, 2);
  size_t size;
  lampar_status status = lampar_template_read(r->templates, name, &r->held, &size, r->read);
  if (status == LAMPAR_OK) {
    char *const text = r->held;
    r->held = NULL;
    status = lampar_template_compile(shown, text, size, &r->held, &size);
    free(text);
  }
  if (status != LAMPAR_OK) {
    lua_pushstring(L, lampar_last_error());
    lua_error(L);
  }
  lampar_sandbox_load(L, r->held, size, shown);
  free(r->held);
  r->held = NULL;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, chunks_key);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* LINES, ENVIRONMENT and GIVEN come from the upvalues, or from the protected body's stack for the
 * first template. */
static void run_template(lua_State *L, const char *name, const char *shown, int indent) {
  const bool first = indent < 0;
  int places[5];
  for (int i = RENDERING; i <= GIVEN; ++i) places[i] = first ? i : upvalue(i);
  rendering *r = lua_touserdata(L, places[RENDERING]);
  lua_pushvalue(L, places[ENVIRONMENT]);
  push_template(L, r, name, shown);

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

  run_template(L, "oneshot.cu.in", "templates/oneshot.cu.in", -1);
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

lampar_status lampar_renderer_open(const char *templates, lampar_renderer **out) {
  *out = NULL;
  lampar_renderer *renderer = calloc(1, sizeof *renderer);
  if (renderer && templates) renderer->templates = strdup(templates);
  lampar_status status = LAMPAR_OK;
  if (!renderer || (templates && !renderer->templates))
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for rendering");
  if (status == LAMPAR_OK) status = lampar_sandbox_open(&renderer->sandbox);
  if (status == LAMPAR_OK) *out = renderer;
  else lampar_renderer_close(renderer);
  return status;
}

void lampar_renderer_close(lampar_renderer *renderer) {
  if (!renderer) return;
  lampar_sandbox_close(renderer->sandbox);
  free(renderer->templates);
  free(renderer);
}

lampar_status lampar_renderer_run(lampar_renderer *renderer, const lampar_variant *variant,
                                  const lampar_render_options *options, char **source,
                                  lampar_files *read) {
  if (!lampar_arch_name(variant->arch) || !lampar_dtype_has_kernels(variant->dtype) ||
      variant->trigger > LAMPAR_TRIGGER_EXIT)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "the variant to render has a damaged arch, dtype or trigger");
  rendering r = {.templates = renderer->templates,
                 .variant = variant,
                 .line_directives = options && options->line_directives,
                 .read = read};
  const char *const subject = renderer->templates ? renderer->templates : "templates";
  const lampar_status status = lampar_sandbox_run(renderer->sandbox, subject, render, &r);
  free(r.held);
  if (status == LAMPAR_OK) *source = r.source;
  return status;
}

lampar_status lampar_render(const char *templates, const lampar_variant *variant,
                            const lampar_render_options *options, char **source,
                            lampar_files *read) {
  lampar_renderer *renderer;
  LAMPAR_TRY(lampar_renderer_open(templates, &renderer));
  const lampar_status status = lampar_renderer_run(renderer, variant, options, source, read);
  lampar_renderer_close(renderer);
  return status;
}
