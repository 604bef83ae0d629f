#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "error.h"
#include "pack_format.h"
#include "sandbox.h"

/* A kernel counts mailboxes in 32 bits and steps from one to the next by the warps of the grid. */
static const uint64_t mailboxes_max = UINT32_MAX / 2;

typedef struct planning {
  const lampar_spec *spec;
  lampar_plan *plan;
  uint32_t *widths; /* without duplicates, then 0 for the flat kernels */
  size_t width_count;
} planning;

__attribute__((format(printf, 3, 4))) static lampar_status skip(lampar_plan *plan, const char *what,
                                                                const char *why, ...) {
  lampar_skip *skips = realloc(plan->skips, (plan->skip_count + 1) * sizeof *skips);
  if (skips) plan->skips = skips;
  lampar_skip entry = {skips ? strdup(what) : NULL, NULL};
  va_list arguments;
  va_start(arguments, why);
  if (entry.what && vasprintf(&entry.why, why, arguments) < 0) entry.why = NULL;
  va_end(arguments);
  if (!entry.why) {
    free(entry.what);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the plan");
  }
  plan->skips[plan->skip_count++] = entry;
  return LAMPAR_OK;
}

/* Two models, or a model and a number, may ask for the same width. */
static lampar_status choose_widths(planning *p) {
  const lampar_spec *spec = p->spec;
  p->widths = calloc(spec->width_count + 1, sizeof *p->widths);
  if (!p->widths) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the plan");
  for (size_t i = 0; i < spec->width_count; ++i) {
    const lampar_width *width = &spec->widths[i];
    size_t same = 0;
    while (same < i && spec->widths[same].elements != width->elements) ++same;
    if (same == i) {
      p->widths[p->width_count++] = width->elements;
      continue;
    }
    char what[128];
    snprintf(what, sizeof what, "hidden %u of %s%s", width->elements, width->model ? "model " : "",
             width->model ? width->model : "the list");
    LAMPAR_TRY(skip(p->plan, what, "the same kernels as hidden %u of %s%s", width->elements,
                    spec->widths[same].model ? "model " : "",
                    spec->widths[same].model ? spec->widths[same].model : "the list"));
  }
  p->widths[p->width_count++] = 0;
  return LAMPAR_OK;
}

static lampar_status too_many(const planning *p, uint64_t kernels, const char *more) {
  const lampar_spec *spec = p->spec;
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "%s: asks for %llu kernels%s, from %zu archs x %zu worlds x %zu dtypes x (%zu hidden "
      "sizes + 1 flat); a pack holds %d, make several specs",
      spec->name, (unsigned long long)kernels, more, spec->arch_count, spec->world_count,
      spec->dtype_count, p->width_count - 1, LAMPAR_PACK_RECORDS_MAX);
}

static int64_t field(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  const int64_t value = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Pushes the list of shapes that geometry.lua gives for the key. */
static void push_shapes(lua_State *L, const lampar_spec *spec, const lampar_variant *key,
                        uint64_t bytes) {
  lampar_sandbox_embedded(L, "geometry");
  lua_newtable(L);
  lua_pushstring(L, lampar_arch_name(key->arch));
  lua_setfield(L, -2, "arch");
  lua_pushstring(L, lampar_dtype_name(key->dtype));
  lua_setfield(L, -2, "dtype");
  const struct {
    const char *name;
    uint64_t value;
  } numbers[] = {{"world", key->world},
                 {"hidden", key->hidden},
                 {"element_bytes", lampar_dtype_bytes(key->dtype)},
                 {"rows", spec->rows},
                 {"bytes", bytes}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    lua_pushinteger(L, (lua_Integer)numbers[i].value);
    lua_setfield(L, -2, numbers[i].name);
  }
  lua_call(L, 1, 1);
}

static void add_key(lua_State *L, planning *p, lampar_variant key) {
  const lampar_spec *spec = p->spec;
  lampar_plan *plan = p->plan;
  const uint64_t element = lampar_dtype_bytes(key.dtype);
  uint32_t widest = 0;
  for (size_t i = 0; i + 1 < p->width_count; ++i)
    if (p->widths[i] > widest) widest = p->widths[i];
  const uint64_t bytes = spec->bytes > 0 ? spec->bytes : spec->rows * (uint64_t)widest * element;

  push_shapes(L, spec, &key, bytes);
  const lua_Integer count = luaL_len(L, -1);
  lampar_variant *variants =
      realloc(plan->variants, (plan->variant_count + (size_t)count) * sizeof *variants);
  if (!variants) luaL_error(L, "out of memory for the plan");
  plan->variants = variants;
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L, -1, i);
    lampar_variant variant = key;
    variant.threads = (uint32_t)field(L, "threads");
    variant.looping = (uint32_t)field(L, "looping");
    variant.rows_limit = (uint32_t)field(L, "rows");
    variant.bytes_limit = (uint64_t)field(L, "bytes");
    lua_pop(L, 1);
    const uint64_t mailboxes = lampar_variant_mailboxes_limit(&variant);
    if (mailboxes <= mailboxes_max) {
      plan->variants[plan->variant_count++] = variant;
      continue;
    }
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&variant, name);
    if (skip(plan, name, "takes %llu mailboxes, a kernel counts to %llu; ask for fewer %s",
             (unsigned long long)mailboxes, (unsigned long long)mailboxes_max,
             variant.hidden > 0 ? "rows" : "bytes") != LAMPAR_OK)
      luaL_error(L, "%s", lampar_last_error());
  }
  lua_pop(L, 1);
}

/* Programmatic launch comes with sm_90; the emulated device has it. */
static uint32_t trigger_of(const lampar_spec *spec, uint32_t arch) {
  return arch < 90 && arch != LAMPAR_ARCH_EMU ? LAMPAR_TRIGGER_OFF : spec->trigger;
}

static int expand(lua_State *L) {
  planning *p = lua_touserdata(L, 1);
  const lampar_spec *spec = p->spec;
  for (size_t a = 0; a < spec->arch_count; ++a) {
    for (size_t w = 0; w < spec->world_count; ++w)
      for (size_t d = 0; d < spec->dtype_count; ++d)
        for (size_t h = 0; h < p->width_count; ++h)
          add_key(L, p,
                  (lampar_variant){.arch = spec->archs[a],
                                   .world = spec->worlds[w],
                                   .dtype = spec->dtypes[d],
                                   .hidden = p->widths[h],
                                   .trigger = trigger_of(spec, spec->archs[a]),
                                   .watchdog_ms = spec->watchdog_ms});
  }
  return 0;
}

static int by_key(const void *a, const void *b) {
  return lampar_variant_compare(a, b);
}

static lampar_status make(planning *p) {
  const lampar_spec *spec = p->spec;
  lampar_plan *plan = p->plan;
  snprintf(plan->name, sizeof plan->name, "%s", spec->name);
  plan->needs_nvlink = spec->needs_nvlink;
  LAMPAR_TRY(choose_widths(p));

  const uint64_t keys =
      (uint64_t)spec->arch_count * spec->world_count * spec->dtype_count * (uint64_t)p->width_count;
  if (keys > LAMPAR_PACK_RECORDS_MAX) return too_many(p, keys, " or more");

  lampar_sandbox *sandbox;
  LAMPAR_TRY(lampar_sandbox_open(&sandbox));
  const lampar_status status = lampar_sandbox_run(sandbox, spec->name, expand, p);
  lampar_sandbox_close(sandbox);
  LAMPAR_TRY(status);

  if (plan->variant_count > LAMPAR_PACK_RECORDS_MAX) return too_many(p, plan->variant_count, "");
  if (plan->variant_count == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: no kernel is left: %s: %s", spec->name,
                       plan->skips[plan->skip_count - 1].what,
                       plan->skips[plan->skip_count - 1].why);
  qsort(plan->variants, plan->variant_count, sizeof *plan->variants, by_key);
  return LAMPAR_OK;
}

lampar_status lampar_plan_make(const lampar_spec *spec, lampar_plan *plan) {
  *plan = (lampar_plan){0};
  planning p = {.spec = spec, .plan = plan};
  const lampar_status status = make(&p);
  free(p.widths);
  if (status != LAMPAR_OK) lampar_plan_free(plan);
  return status;
}

void lampar_plan_free(lampar_plan *plan) {
  for (size_t i = 0; i < plan->skip_count; ++i) {
    free(plan->skips[i].what);
    free(plan->skips[i].why);
  }
  free(plan->skips);
  free(plan->variants);
  *plan = (lampar_plan){0};
}

uint64_t lampar_plan_mailboxes(const lampar_plan *plan, uint32_t world) {
  uint64_t most = 0;
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *variant = &plan->variants[i];
    const uint64_t mailboxes = lampar_variant_mailboxes_limit(variant);
    if (variant->world == world && mailboxes > most) most = mailboxes;
  }
  return most;
}
