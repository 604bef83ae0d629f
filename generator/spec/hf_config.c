#include "spec/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "pack/arch.h"
#include "spec/files.h"
#include "spec/sandbox.h"

enum { DEPTH_MAX = 64 };

typedef struct conversion {
  const char *path;
  const cJSON *config;
  const lampar_hf_request *request;
  char *spec, *remarks;
} conversion;

static void push_json(lua_State *L, const cJSON *value, int depth) {
  luaL_checkstack(L, 4, "nesting");
  if (depth > DEPTH_MAX) luaL_error(L, "more than %d levels of nesting", DEPTH_MAX);
  if (cJSON_IsString(value)) {
    lua_pushstring(L, value->valuestring);
  } else if (cJSON_IsBool(value)) {
    lua_pushboolean(L, cJSON_IsTrue(value));
  } else if (cJSON_IsNumber(value)) {
    const double number = value->valuedouble;
    if (number == floor(number) && fabs(number) < 9007199254740992.0)
      lua_pushinteger(L, (lua_Integer)number);
    else lua_pushnumber(L, number);
  } else if (cJSON_IsObject(value) || cJSON_IsArray(value)) {
    lua_newtable(L);
    lua_Integer index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, value) {
      push_json(L, item, depth + 1);
      if (cJSON_IsObject(value)) lua_setfield(L, -2, item->string);
      else lua_rawseti(L, -2, ++index);
    }
  } else {
    lua_pushnil(L);
  }
}

static void push_numbers(lua_State *L, const uint32_t *numbers, size_t count, bool archs) {
  lua_newtable(L);
  for (size_t i = 0; i < count; ++i) {
    if (archs) lua_pushstring(L, lampar_arch_name(numbers[i]));
    else lua_pushinteger(L, numbers[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_request(lua_State *L, const lampar_hf_request *request) {
  lua_newtable(L);
  lua_pushstring(L, request->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, request->dtype);
  lua_setfield(L, -2, "dtype");
  if (request->hidden > 0) {
    lua_pushinteger(L, request->hidden);
    lua_setfield(L, -2, "hidden");
  }
  push_numbers(L, request->archs, request->arch_count, true);
  lua_setfield(L, -2, "archs");
  push_numbers(L, request->worlds, request->world_count, false);
  lua_setfield(L, -2, "worlds");
}

static int convert(lua_State *L) {
  conversion *c = lua_touserdata(L, 1);
  lampar_sandbox_embedded(L, "hf_config");
  lua_pushstring(L, c->path);
  push_json(L, c->config, 0);
  push_request(L, c->request);
  lua_call(L, 3, 2);
  luaL_Buffer remarks;
  luaL_buffinit(L, &remarks);
  for (lua_Integer i = 1; lua_rawgeti(L, 3, i) == LUA_TSTRING; ++i) {
    lua_pushfstring(L, "%s: %s\n", c->path, lua_tostring(L, -1));
    lua_remove(L, -2);
    luaL_addvalue(&remarks);
  }
  lua_pop(L, 1);
  luaL_pushresult(&remarks);
  c->spec = strdup(luaL_checkstring(L, 2));
  c->remarks = strdup(lua_tostring(L, -1));
  if (c->spec == NULL || c->remarks == NULL) luaL_error(L, "out of memory");
  return 0;
}

lampar_status lampar_hf_config_spec(const char *path, const lampar_hf_request *request, char **spec,
                                    char **remarks) {
  char *text = NULL;
  size_t size;
  LAMPAR_TRY(lampar_file_read(path, LAMPAR_MODEL_CONFIG_BYTES_MAX, &text, &size));
  const char *end = text;
  cJSON *const config = cJSON_ParseWithLengthOpts(text, size + 1, &end, true);
  lampar_sandbox *sandbox = NULL;
  conversion c = {.path = path, .config = config, .request = request};
  lampar_status status;
  if (config == NULL) {
    int line = 1;
    for (const char *at = text; at < end; ++at) line += *at == '\n';
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "%s:%d: is not JSON; name the config.json of a model", path, line);
    goto out;
  }
  LAMPAR_TRY_OUT(lampar_sandbox_open(&sandbox));
  LAMPAR_TRY_OUT(lampar_sandbox_run(sandbox, path, convert, &c));
  *spec = c.spec;
  *remarks = c.remarks;
  c.spec = c.remarks = NULL;
out:
  lampar_sandbox_close(sandbox);
  cJSON_Delete(config);
  free(text);
  free(c.spec);
  free(c.remarks);
  return status;
}
