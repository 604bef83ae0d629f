#include "template/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/variant_fields.h"
#include "spec/sandbox.h"
#include "template/stages.h"
#include "template/template_run.h"

struct lampar_renderer {
  lampar_sandbox *sandbox;
  char *templates;  /* folder; NULL: those carried inside */
  char *own_folder; /* of the spec's own stages; NULL: none */
  char *own_shown;  /* the same, as the spec names it */
};

typedef struct rendering {
  const lampar_variant *variant;
  lampar_own_stages own;
  lampar_template_run run;
  const char *main; /* "templates/oneshot.cu.in" */
  bool line_directives;
  bool has_params;
  char *source;
} rendering;

/* Places on the stack of the protected body, and upvalues of params. */
enum { RENDERING = 1, SINK = 2, ENVIRONMENT = 3, GIVEN = 4 };

static int upvalue(int place) {
  return lua_upvalueindex(place);
}

/* params "a b c": makes exactly the given parameters known under their names. */
static int params(lua_State *L) {
  rendering *r = lua_touserdata(L, upvalue(RENDERING));
  const char *at = luaL_checkstring(L, 1);
  if (lampar_template_run_is_inside(&r->run))
    return luaL_error(L, "$params belongs into %s", r->main);
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

/* needs "a b c": what a part uses of what templates before it have made known. */
static int needs(lua_State *L) {
  const char *at = luaL_checkstring(L, 1);
  while (*(at += strspn(at, " ")) != '\0') {
    lua_pushlstring(L, at, strcspn(at, " "));
    at += strcspn(at, " ");
    lua_pushvalue(L, -1);
    if (lua_rawget(L, lua_upvalueindex(1)) == LUA_TNIL)
      return luaL_error(L, "$needs: %s is not known here", lua_tostring(L, -2));
  }
  return 0;
}

static void set_text(lua_State *L, int table, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, table, name);
}

/* Every field of the variant is a parameter. */
static void push_given(lua_State *L, const lampar_variant *variant) {
  lua_newtable(L);
  for (const lampar_variant_field *field = lampar_variant_fields; field->name != NULL; ++field) {
    if (field->kind == LAMPAR_FIELD_NAME || field->kind == LAMPAR_FIELD_TEXT)
      lua_pushstring(L, lampar_variant_get_text(variant, field));
    else lua_pushinteger(L, (lua_Integer)lampar_variant_get(variant, field));
    lua_setfield(L, -2, field->name);
  }
}

/* Makes `stages`, `schedule` and `operands` known. What the stage files declare has to be what the
 * plan was made with: callers know the plan's operands. */
static void set_stages(lua_State *L, rendering *r) {
  const lampar_stages_result result =
      lampar_stages_push(L, &r->run, &r->own, r->variant, r->variant->epilogue, NULL);
  if (result != LAMPAR_STAGES_MADE)
    luaL_error(L, "epilogue %s: %s", r->variant->epilogue, lua_tostring(L, -1));
  lampar_variant declared = *r->variant;
  lampar_stages_copy(L, &declared);
  if (declared.operand_count != r->variant->operand_count ||
      memcmp(declared.operands, r->variant->operands, sizeof declared.operands) != 0 ||
      strcmp(declared.epilogue, r->variant->epilogue) != 0)
    luaL_error(L,
               "epilogue %s: the stage files declare other operands than the plan has; make "
               "the plan again",
               r->variant->epilogue);
  static const char *const lists[] = {"stages", "schedule", "operands"};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i) {
    lua_getfield(L, -1, lists[i]);
    lua_setfield(L, ENVIRONMENT, lists[i]);
  }
  lua_pop(L, 1);
}

/* Replaces the sink's block by what is left of it without unused functions, types and constants. */
static void prune(lua_State *L) {
  lampar_sandbox_embedded(L, "prune");
  lua_getfield(L, SINK, "block");
  lua_call(L, 1, 1);
  lua_setfield(L, SINK, "block");
}

static int render(lua_State *L) {
  rendering *r = lua_touserdata(L, RENDERING);
  const lampar_variant *variant = r->variant;
  lua_newtable(L);
  lua_newtable(L);
  lua_setfield(L, SINK, "block");
  lampar_sandbox_environment(L);
  push_given(L, variant);

  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  set_text(L, ENVIRONMENT, "name", name);
  set_text(L, ENVIRONMENT, "lampar_version", lampar_version());
  set_stages(L, r);
  for (int i = RENDERING; i <= GIVEN; ++i) lua_pushvalue(L, i);
  lua_pushcclosure(L, params, GIVEN);
  lua_setfield(L, ENVIRONMENT, "params");
  lua_pushvalue(L, ENVIRONMENT);
  lua_pushcclosure(L, needs, 1);
  lua_setfield(L, ENVIRONMENT, "needs");

  static const char folder[] = "templates/";
  lampar_template_run_file(L, &r->run, r->run.templates, r->main + sizeof folder - 1, r->main,
                           ENVIRONMENT, SINK);
  if (!r->has_params) luaL_error(L, "%s: has no $params line", r->main);

  prune(L);
  lua_getfield(L, SINK, "block");
  lampar_template_block_text(L, lua_gettop(L), r->line_directives);
  r->source = strdup(lua_tostring(L, -1));
  if (r->source == NULL) luaL_error(L, "out of memory");
  return 0;
}

/* A copy of a text that may be NULL. */
static lampar_status copy_text(const char *text, char **copy) {
  if (text == NULL) return LAMPAR_OK;
  *copy = strdup(text);
  return *copy != NULL ? LAMPAR_OK
                       : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for rendering");
}

lampar_status lampar_renderer_open(const char *templates, const lampar_own_stages *own,
                                   lampar_renderer **out) {
  *out = NULL;
  lampar_renderer *renderer = calloc(1, sizeof *renderer);
  if (renderer == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for rendering");
  lampar_status status;
  LAMPAR_TRY_OUT(copy_text(templates, &renderer->templates));
  LAMPAR_TRY_OUT(copy_text(own != NULL ? own->folder : NULL, &renderer->own_folder));
  LAMPAR_TRY_OUT(copy_text(own != NULL ? own->shown : NULL, &renderer->own_shown));
  LAMPAR_TRY_OUT(lampar_sandbox_open(&renderer->sandbox));
  *out = renderer;
  return LAMPAR_OK;
out:
  lampar_renderer_close(renderer);
  return status;
}

void lampar_renderer_close(lampar_renderer *renderer) {
  if (renderer == NULL) return;
  lampar_sandbox_close(renderer->sandbox);
  free(renderer->templates);
  free(renderer->own_folder);
  free(renderer->own_shown);
  free(renderer);
}

lampar_status lampar_renderer_run(lampar_renderer *renderer, const lampar_variant *variant,
                                  const lampar_render_options *options, char **source,
                                  lampar_files *read) {
  if (!lampar_variant_is_valid(variant))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "the variant to render is not one that a plan makes");
  rendering r = {.variant = variant,
                 .own = {renderer->own_folder, renderer->own_shown},
                 .run = {.templates = renderer->templates,
                         .backend = variant->arch == LAMPAR_ARCH_EMU ? "emu" : "ptx",
                         .read = read},
                 .main = variant->algorithm == LAMPAR_TWOSHOT ? "templates/twoshot.cu.in"
                                                              : "templates/oneshot.cu.in",
                 .line_directives = options != NULL && options->line_directives};
  const char *const subject = renderer->templates != NULL ? renderer->templates : "templates";
  const lampar_status status = lampar_sandbox_run(renderer->sandbox, subject, render, &r);
  free(r.run.held);
  if (status == LAMPAR_OK) *source = r.source;
  return status;
}

lampar_status lampar_render(const char *templates, const lampar_own_stages *own,
                            const lampar_variant *variant, const lampar_render_options *options,
                            char **source, lampar_files *read) {
  lampar_renderer *renderer;
  LAMPAR_TRY(lampar_renderer_open(templates, own, &renderer));
  const lampar_status status = lampar_renderer_run(renderer, variant, options, source, read);
  lampar_renderer_close(renderer);
  return status;
}
