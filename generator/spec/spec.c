#include "spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "spec/sandbox.h"

/* The state of the protected body. */
typedef struct reading {
  const char *path;
  const char *given; /* the text; NULL: the file's */
  lampar_spec *spec;
  lampar_files *read;
  char *text; /* kept here because a Lua error skips the rest of the function that reads it */
} reading;

/* Raises the message of a failed call as a Lua error. */
static void check(lua_State *L, lampar_status status) {
  if (status != LAMPAR_OK) luaL_error(L, "%s", lampar_last_error());
}

/* ---- running the file ---- */

/* Appends a name to a field of the table on top of the stack. */
static void add_name(lua_State *L, const char *field, const char *name) {
  luaL_getsubtable(L, -1, field);
  lua_pushstring(L, name);
  lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  lua_pop(L, 1);
}

static void set_names(lua_State *L) {
  for (size_t i = 0; lampar_archs[i] != 0; ++i)
    add_name(L, "archs", lampar_arch_name(lampar_archs[i]));
  for (uint32_t dtype = 0; lampar_dtype_name(dtype) != NULL; ++dtype)
    if (lampar_dtype_has_kernels(dtype)) add_name(L, "dtypes", lampar_dtype_name(dtype));
  for (uint32_t rounding = 0; lampar_rounding_name(rounding) != NULL; ++rounding)
    add_name(L, "roundings", lampar_rounding_name(rounding));
}

/* Pushes the value that the file returns. `texts` and `environment` are stack indices. */
static void run_file(lua_State *L, reading *r, const char *path, int texts, int environment) {
  size_t size;
  if (r->given != NULL) {
    lua_pushstring(L, r->given);
  } else {
    check(L, lampar_file_read(path, LAMPAR_SPEC_BYTES_MAX, &r->text, &size));
    if (r->read != NULL) check(L, lampar_files_add(r->read, path));
    lua_pushlstring(L, r->text, size);
    free(r->text);
    r->text = NULL;
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, texts, path);
  const char *kept = lua_tolstring(L, -1, &size);
  lua_pushvalue(L, environment);
  lampar_sandbox_load(L, kept, size, path);
  lua_call(L, 0, 1);
  lua_rotate(L, -3, 1);
  lua_pop(L, 2);
}

/* Pushes the path of a file or folder next to the spec. */
static const char *push_beside(lua_State *L, const reading *r, const char *name) {
  const char *slash = strrchr(r->path, '/');
  lua_pushlstring(L, r->path, slash != NULL ? (size_t)(slash - r->path) + 1 : 0);
  lua_pushstring(L, name);
  lua_concat(L, 2);
  return lua_tostring(L, -1);
}

/* has_folder(name); upvalue 1 the reading. A spec given as text has no folder. */
static int has_folder(lua_State *L) {
  const reading *r = lua_touserdata(L, lua_upvalueindex(1));
  struct stat facts;
  lua_pushboolean(L, r->given == NULL &&
                         stat(push_beside(L, r, luaL_checkstring(L, 1)), &facts) == 0 &&
                         S_ISDIR(facts.st_mode));
  return 1;
}

/* Upvalues: 1 the reading, 2 the texts by path, 3 the environment, 4 the values of required files
 * by name, false while one is under way. */
static int require_beside(lua_State *L) {
  reading *r = lua_touserdata(L, lua_upvalueindex(1));
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  lua_settop(L, 1);
  if (r->given != NULL)
    return luaL_error(L, "require \"%s\": a spec that is given as text has no folder", name);
  if (length == 0 || name[0] == '/' || strstr(name, "..") != NULL || strlen(name) != length)
    return luaL_error(
        L,
        "require \"%s\": only files next to the spec or below its folder; no '..' and no "
        "absolute path",
        name);
  if (lua_getfield(L, lua_upvalueindex(4), name) != LUA_TNIL) {
    if (lua_toboolean(L, -1)) return 1;
    return luaL_error(L, "require \"%s\": the file requires itself, directly or through another",
                      name);
  }
  lua_pushboolean(L, 0);
  lua_setfield(L, lua_upvalueindex(4), name);

  push_beside(L, r, lua_pushfstring(L, "%s.lua", name));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(3));
  const int environment = lua_gettop(L);
  run_file(L, r, lua_tostring(L, environment - 2), environment - 1, environment);
  if (!lua_toboolean(L, -1)) return luaL_error(L, "require \"%s\": the file returns nothing", name);
  lua_pushvalue(L, -1);
  lua_setfield(L, lua_upvalueindex(4), name);
  return 1;
}

/* ---- from the checked Lua table to plain data ---- */

static lua_Integer integer(lua_State *L, const char *field) {
  lua_getfield(L, -1, field);
  const lua_Integer value = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

static uint32_t word(lua_State *L, const char *field, bool (*parse)(const char *, uint32_t *)) {
  uint32_t number;
  lua_getfield(L, -1, field);
  if (!parse(luaL_checkstring(L, -1), &number))
    luaL_error(L, "%s: unknown %s", field, lua_tostring(L, -1));
  lua_pop(L, 1);
  return number;
}

static size_t copy_numbers(lua_State *L, const char *field, uint32_t *numbers, size_t room,
                           bool (*parse)(const char *, uint32_t *)) {
  lua_getfield(L, -1, field);
  const size_t count = (size_t)luaL_len(L, -1);
  if (count > room) luaL_error(L, "%s has more than %d entries", field, (int)room);
  for (size_t i = 0; i < count; ++i) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    if (parse == NULL) numbers[i] = (uint32_t)luaL_checkinteger(L, -1);
    else if (!parse(luaL_checkstring(L, -1), &numbers[i]))
      luaL_error(L, "%s: unknown %s", field, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return count;
}

static void *need(lua_State *L, void *memory) {
  if (memory == NULL) luaL_error(L, "out of memory");
  return memory;
}

static void copy_widths(lua_State *L, lampar_spec *spec) {
  lua_getfield(L, -1, "hidden");
  const size_t count = (size_t)luaL_len(L, -1);
  spec->widths = need(L, calloc(count + 1, sizeof *spec->widths));
  for (; spec->width_count < count; ++spec->width_count) {
    lampar_width *width = &spec->widths[spec->width_count];
    lua_rawgeti(L, -1, (lua_Integer)spec->width_count + 1);
    width->elements = (uint32_t)integer(L, "elements");
    if (lua_getfield(L, -1, "model") == LUA_TSTRING)
      width->model = need(L, strdup(lua_tostring(L, -1)));
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

static char *copy_text(lua_State *L, const char *field) {
  char *copy = NULL;
  if (lua_getfield(L, -1, field) == LUA_TSTRING) copy = need(L, strdup(lua_tostring(L, -1)));
  lua_pop(L, 1);
  return copy;
}

static void copy_epilogues(lua_State *L, const reading *r, lampar_spec *spec) {
  lua_getfield(L, -1, "epilogues");
  const size_t count = (size_t)luaL_len(L, -1);
  spec->epilogues = need(L, calloc(count, sizeof *spec->epilogues));
  for (; spec->epilogue_count < count; ++spec->epilogue_count) {
    lampar_spec_epilogue *epilogue = &spec->epilogues[spec->epilogue_count];
    lua_rawgeti(L, -1, (lua_Integer)spec->epilogue_count + 1);
    epilogue->text = copy_text(L, "text");
    epilogue->where = copy_text(L, "where");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  spec->rounding = word(L, "rounding", lampar_rounding_parse);
  spec->weight_dtype = copy_text(L, "weight_dtype");
  spec->stages = copy_text(L, "stages");
  if (spec->stages == NULL) return;
  spec->stages_folder = need(L, strdup(push_beside(L, r, spec->stages)));
  lua_pop(L, 1);
}

static void copy_defaults(lua_State *L, lampar_spec *spec) {
  lua_getfield(L, -1, "defaults");
  const size_t count = (size_t)luaL_len(L, -1);
  spec->defaults = need(L, calloc(count + 1, sizeof *spec->defaults));
  for (; spec->default_count < count; ++spec->default_count) {
    lua_rawgeti(L, -1, (lua_Integer)spec->default_count + 1);
    spec->defaults[spec->default_count] = need(L, strdup(luaL_checkstring(L, -1)));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void copy_spec(lua_State *L, const reading *r, lampar_spec *spec) {
  lua_getfield(L, -1, "name");
  snprintf(spec->name, sizeof spec->name, "%s", luaL_checkstring(L, -1));
  lua_pop(L, 1);
  spec->arch_count = copy_numbers(L, "arch", spec->archs, LAMPAR_SPEC_ARCHS, lampar_arch_parse);
  spec->world_count = copy_numbers(L, "world", spec->worlds, LAMPAR_WORLD_MAX, NULL);
  spec->dtype_count =
      copy_numbers(L, "dtype", spec->dtypes, LAMPAR_SPEC_DTYPES, lampar_dtype_parse);
  copy_widths(L, spec);
  spec->rows = (uint32_t)integer(L, "rows");
  spec->bytes = (uint64_t)integer(L, "bytes");
  copy_epilogues(L, r, spec);
  lua_getfield(L, -1, "link");
  spec->needs_nvlink = strcmp(luaL_checkstring(L, -1), "nvlink") == 0;
  lua_pop(L, 1);
  spec->trigger = word(L, "pdl", lampar_trigger_parse);
  spec->watchdog_ms = (uint32_t)integer(L, "watchdog_ms");
  spec->alignment = (uint32_t)integer(L, "alignment");
  copy_defaults(L, spec);
}

static int read_spec(lua_State *L) {
  reading *r = lua_touserdata(L, 1);
  enum { TEXTS = 2, ENVIRONMENT = 3, VOCABULARY = 4 };
  lua_newtable(L);
  lampar_sandbox_environment(L);

  lampar_sandbox_embedded(L, "prelude");
  lua_newtable(L);
  lua_pushvalue(L, TEXTS);
  lua_setfield(L, -2, "texts");
  set_names(L);
  lua_pushlightuserdata(L, r);
  lua_pushcclosure(L, has_folder, 1);
  lua_setfield(L, -2, "has_folder");
  lua_pushinteger(L, LAMPAR_WORLD_MAX);
  lua_setfield(L, -2, "world_max");
  lua_pushinteger(L, LAMPAR_PACK_NAME_BYTES - 1);
  lua_setfield(L, -2, "name_max");
  lua_pushinteger(L, LAMPAR_VECTOR_BYTES);
  lua_setfield(L, -2, "alignment");
  lua_call(L, 1, 1);

  lua_getfield(L, VOCABULARY, "spec");
  lua_setfield(L, ENVIRONMENT, "spec");
  lua_getfield(L, VOCABULARY, "model");
  lua_setfield(L, ENVIRONMENT, "model");
  lua_pushlightuserdata(L, r);
  lua_pushvalue(L, TEXTS);
  lua_pushvalue(L, ENVIRONMENT);
  lua_newtable(L);
  lua_pushcclosure(L, require_beside, 4);
  lua_setfield(L, ENVIRONMENT, "require");

  lua_getfield(L, VOCABULARY, "accept");
  lua_pushstring(L, r->path);
  run_file(L, r, r->path, TEXTS, ENVIRONMENT);
  lua_call(L, 2, 1);
  copy_spec(L, r, r->spec);
  return 0;
}

static lampar_status run(reading *r) {
  *r->spec = (lampar_spec){0};
  lampar_sandbox *sandbox;
  LAMPAR_TRY(lampar_sandbox_open(&sandbox));
  const lampar_status status = lampar_sandbox_run(sandbox, r->path, read_spec, r);
  lampar_sandbox_close(sandbox);
  free(r->text);
  if (status != LAMPAR_OK) lampar_spec_free(r->spec);
  return status;
}

lampar_status lampar_spec_read(const char *path, lampar_spec *spec, lampar_files *read) {
  return run(&(reading){.path = path, .spec = spec, .read = read});
}

lampar_status lampar_spec_read_text(const char *name, const char *text, lampar_spec *spec) {
  return run(&(reading){.path = name, .given = text, .spec = spec});
}

void lampar_spec_free(lampar_spec *spec) {
  for (size_t i = 0; i < spec->width_count; ++i) free(spec->widths[i].model);
  for (size_t i = 0; i < spec->default_count; ++i) free(spec->defaults[i]);
  for (size_t i = 0; i < spec->epilogue_count; ++i) {
    free(spec->epilogues[i].text);
    free(spec->epilogues[i].where);
  }
  free(spec->epilogues);
  free(spec->weight_dtype);
  free(spec->stages);
  free(spec->stages_folder);
  free(spec->widths);
  free(spec->defaults);
  *spec = (lampar_spec){0};
}
