#include "template/stages.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "spec/sandbox.h"
#include "template/template_text.h"

typedef struct places {
  lampar_template_run *run;
  const lampar_own_stages *own;
} places;

static void file_of(const char *name, const char *under, char file[LAMPAR_SHOWN_BYTES]) {
  snprintf(file, LAMPAR_SHOWN_BYTES, "%s%.100s.cu.in", under, name);
}

static bool is_built_in(const places *p, const char *name) {
  char file[LAMPAR_SHOWN_BYTES];
  file_of(name, "epilogues/", file);
  return lampar_template_exists(p->run->templates, file);
}

static bool is_own(const places *p, const char *name) {
  char file[LAMPAR_SHOWN_BYTES];
  file_of(name, "", file);
  return p->own->folder != NULL && lampar_template_exists(p->own->folder, file);
}

/* find(name) -> "once", "twice" or "nowhere", folders, names; see stages.lua. */
static int find(lua_State *L) {
  const places *const p = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  const bool built_in = is_built_in(p, name), own = is_own(p, name);
  lua_pushstring(L, built_in && own ? "twice" : built_in || own ? "once" : "nowhere");
  if (p->own->folder != NULL) lua_pushfstring(L, "templates/epilogues and %s", p->own->shown);
  else lua_pushliteral(L, "templates/epilogues");
  lua_newtable(L);
  if (built_in || own) return 3;
  lampar_files names = {0};
  lampar_status status = lampar_template_names(p->run->templates, "epilogues", &names);
  if (status == LAMPAR_OK && p->own->folder != NULL)
    status = lampar_template_names(p->own->folder, NULL, &names);
  for (size_t i = 0; status == LAMPAR_OK && i < names.count; ++i) {
    lua_pushstring(L, names.paths[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lampar_files_free(&names);
  return status == LAMPAR_OK ? 3 : luaL_error(L, "%s", lampar_last_error());
}

/* run(name, environment, sink) -> what messages call the file */
static int run_file(lua_State *L) {
  const places *const p = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  const bool built_in = is_built_in(p, name);
  char file[LAMPAR_SHOWN_BYTES], shown[2 * LAMPAR_SHOWN_BYTES];
  file_of(name, built_in ? "epilogues/" : "", file);
  snprintf(shown, sizeof shown, "%.64s/%s", built_in ? "templates" : p->own->shown, file);
  lampar_template_run_file(L, p->run, built_in ? p->run->templates : p->own->folder, file, shown, 2,
                           3);
  lua_pushstring(L, shown);
  return 1;
}

static void push_known(lua_State *L) {
  lua_createtable(L, 0, 4);
  lua_newtable(L);
  for (uint32_t dtype = 0; lampar_dtype_name(dtype) != NULL; ++dtype) {
    lua_pushstring(L, lampar_dtype_name(dtype));
    lua_rawseti(L, -2, (lua_Integer)dtype + 1);
  }
  lua_setfield(L, -2, "dtypes");
  lua_newtable(L);
  for (uint32_t granularity = 0; lampar_granularity_name(granularity) != NULL; ++granularity) {
    lua_pushstring(L, lampar_granularity_name(granularity));
    lua_rawseti(L, -2, (lua_Integer)granularity + 1);
  }
  lua_setfield(L, -2, "granularities");
  lua_pushinteger(L, LAMPAR_EPILOGUE_BYTES);
  lua_setfield(L, -2, "epilogue_bytes");
  lua_pushinteger(L, LAMPAR_OPERANDS_MAX);
  lua_setfield(L, -2, "operands_max");
}

static void push_parameters(lua_State *L, const lampar_variant *key) {
  lua_createtable(L, 0, 6);
  const struct {
    const char *name, *value;
  } texts[] = {{"arch", lampar_arch_name(key->arch)},
               {"dtype", lampar_dtype_name(key->dtype)},
               {"rounding", lampar_rounding_name(key->rounding)},
               {"algorithm", lampar_algorithm_name(key->algorithm)}};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    lua_pushstring(L, texts[i].value);
    lua_setfield(L, -2, texts[i].name);
  }
  lua_pushinteger(L, key->world);
  lua_setfield(L, -2, "world");
  lua_pushinteger(L, key->hidden);
  lua_setfield(L, -2, "hidden");
}

lampar_stages_result lampar_stages_push(lua_State *L, lampar_template_run *run,
                                        const lampar_own_stages *own, const lampar_variant *key,
                                        const char *text, const char *weight_dtype) {
  places p = {run, own};
  const struct lampar_template_frame *const top = run->top;
  lampar_sandbox_embedded(L, "stages");
  push_known(L);
  lua_pushlightuserdata(L, &p);
  lua_pushcclosure(L, find, 1);
  lua_pushlightuserdata(L, &p);
  lua_pushcclosure(L, run_file, 1);
  lua_call(L, 3, 1);
  lua_pushstring(L, text);
  push_parameters(L, key);
  lua_pushstring(L, weight_dtype);
  lua_call(L, 3, 1);
  run->top = top; /* a stage file that was left by a refusal */

  lua_getfield(L, -1, "kind");
  const char *const kind = lua_tostring(L, -1);
  const lampar_stages_result result = strcmp(kind, "made") == 0      ? LAMPAR_STAGES_MADE
                                      : strcmp(kind, "refusal") == 0 ? LAMPAR_STAGES_REFUSED
                                                                     : LAMPAR_STAGES_MISTAKEN;
  lua_pop(L, 1);
  if (result == LAMPAR_STAGES_MADE) return result;
  lua_getfield(L, -1, "message");
  lua_remove(L, -2);
  return result;
}

static const char *text_field(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  const char *const text = luaL_checkstring(L, -1);
  lua_pop(L, 1); /* it stays alive in its table */
  return text;
}

static void copy_operand(lua_State *L, lampar_operand_info *operand) {
  *operand = (lampar_operand_info){0};
  snprintf(operand->name, sizeof operand->name, "%s", text_field(L, "name"));
  if (!lampar_dtype_parse(text_field(L, "dtype"), &operand->dtype) ||
      !lampar_granularity_parse(text_field(L, "per"), &operand->granularity))
    luaL_error(L, "operand %s: unknown dtype or per", operand->name);
  lua_getfield(L, -1, "output");
  operand->output = lua_toboolean(L, -1);
  lua_getfield(L, -2, "group");
  operand->group = (uint32_t)luaL_checkinteger(L, -1);
  lua_pop(L, 2);
}

void lampar_stages_copy(lua_State *L, lampar_variant *variant) {
  memset(variant->epilogue, 0, sizeof variant->epilogue);
  snprintf(variant->epilogue, sizeof variant->epilogue, "%s", text_field(L, "text"));
  memset(variant->operands, 0, sizeof variant->operands);
  lua_getfield(L, -1, "operands");
  const lua_Integer count = luaL_len(L, -1);
  assert(count <= LAMPAR_OPERANDS_MAX); /* stages.lua refuses more */
  variant->operand_count = (uint32_t)count;
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    copy_operand(L, &variant->operands[i]);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
