#include "plan/plan.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/pack_format.h"
#include "spec/sandbox.h"
#include "template/stages.h"

typedef struct planning {
  const lampar_spec *spec;
  lampar_plan *plan;
  lampar_template_run run;
  uint32_t *widths; /* without duplicates, then 0 for the flat kernels */
  size_t width_count;
  const lampar_spec_epilogue *epilogue; /* of the key that is being expanded */
  lampar_variant key;
} planning;

/* A combination that is dropped for the same reason on several archs and worlds is listed once. */
__attribute__((format(printf, 3, 4))) static lampar_status skip(lampar_plan *plan, const char *what,
                                                                const char *why, ...) {
  lampar_skip *skips = realloc(plan->skips, (plan->skip_count + 1) * sizeof *skips);
  if (skips != NULL) plan->skips = skips;
  lampar_skip entry = {skips != NULL ? strdup(what) : NULL, NULL};
  va_list arguments;
  va_start(arguments, why);
  if (entry.what != NULL && vasprintf(&entry.why, why, arguments) < 0) entry.why = NULL;
  va_end(arguments);
  bool is_known = false;
  for (size_t i = 0; entry.why != NULL && i < plan->skip_count; ++i)
    is_known |= strcmp(skips[i].what, entry.what) == 0 && strcmp(skips[i].why, entry.why) == 0;
  if (entry.why != NULL && !is_known) {
    plan->skips[plan->skip_count++] = entry;
    return LAMPAR_OK;
  }
  free(entry.what);
  free(entry.why);
  return is_known ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the plan");
}

/* Two models, or a model and a number, may have the same width. */
static lampar_status choose_widths(planning *p) {
  const lampar_spec *spec = p->spec;
  p->widths = calloc(spec->width_count + 1, sizeof *p->widths);
  if (p->widths == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the plan");
  for (size_t i = 0; i < spec->width_count; ++i) {
    const lampar_width *width = &spec->widths[i];
    size_t same = 0;
    while (same < i && spec->widths[same].elements != width->elements) ++same;
    if (same == i) {
      p->widths[p->width_count++] = width->elements;
      continue;
    }
    char what[128];
    snprintf(what, sizeof what, "hidden %u of %s%s", width->elements,
             width->model != NULL ? "model " : "",
             width->model != NULL ? width->model : "the list");
    LAMPAR_TRY(skip(p->plan, what, "the same kernels as hidden %u of %s%s", width->elements,
                    spec->widths[same].model != NULL ? "model " : "",
                    spec->widths[same].model != NULL ? spec->widths[same].model : "the list"));
  }
  p->widths[p->width_count++] = 0;
  return LAMPAR_OK;
}

static lampar_status too_many(const planning *p, uint64_t kernels, const char *more) {
  const lampar_spec *spec = p->spec;
  char epilogues[48] = "";
  if (spec->epilogue_count > 1)
    snprintf(epilogues, sizeof epilogues, " x %zu epilogues", spec->epilogue_count);
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "%s: asks for %llu kernels%s, from %zu archs x %zu worlds x %zu dtypes x (%zu hidden "
      "sizes + 1 flat)%s; a pack holds %d, make several specs",
      spec->name, (unsigned long long)kernels, more, spec->arch_count, spec->world_count,
      spec->dtype_count, p->width_count - 1, epilogues, LAMPAR_PACK_RECORDS_MAX);
}

/* ---- one key: its epilogue, then its kernels; inside the sandbox ---- */

static bool is_fused(const planning *p) {
  return p->epilogue->text[0] != '\0';
}

/* Fills in the key's epilogue. False: the stages refuse the key, and the plan lists why. */
static bool declare_epilogue(lua_State *L, planning *p) {
  const lampar_own_stages own = {p->spec->stages_folder, p->spec->stages};
  const lampar_stages_result result =
      lampar_stages_push(L, &p->run, &own, &p->key, p->epilogue->text, p->spec->weight_dtype);
  if (result == LAMPAR_STAGES_MISTAKEN)
    luaL_error(L, "%s: %s", p->epilogue->where, lua_tostring(L, -1));
  if (result == LAMPAR_STAGES_MADE) {
    lampar_stages_copy(L, &p->key);
  } else {
    char what[LAMPAR_EPILOGUE_BYTES + 64];
    snprintf(what, sizeof what, "epilogue %s, %s, hidden %u", p->epilogue->text,
             lampar_dtype_name(p->key.dtype), p->key.hidden);
    if (skip(p->plan, what, "%s", lua_tostring(L, -1)) != LAMPAR_OK)
      luaL_error(L, "%s", lampar_last_error());
  }
  lua_pop(L, 1);
  return result == LAMPAR_STAGES_MADE;
}

static void set_integer(lua_State *L, const char *name, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* The epilogue alone follows NCCL, whose calls have no limit. */
static uint64_t rows_of(const planning *p) {
  if (p->key.algorithm != LAMPAR_EPILOGUE_ONLY) return p->spec->rows;
  const uint64_t rows = LAMPAR_VECTORS_MAX / lampar_variant_row_mailboxes(&p->key);
  return rows < INT32_MAX ? rows : INT32_MAX;
}

static uint64_t bytes_of(const planning *p) {
  if (p->spec->bytes > 0) return p->spec->bytes;
  uint32_t widest = 0;
  for (size_t i = 0; i + 1 < p->width_count; ++i)
    if (p->widths[i] > widest) widest = p->widths[i];
  return p->spec->rows * (uint64_t)widest * lampar_dtype_bytes(p->key.dtype);
}

/* Pushes what geometry.lua gives for the key: the list of shapes, and whether two-shot is missing.
 */
static void push_shapes(lua_State *L, const planning *p) {
  const lampar_variant *key = &p->key;
  lampar_sandbox_embedded(L, "geometry");
  lua_newtable(L);
  lua_pushstring(L, lampar_arch_name(key->arch));
  lua_setfield(L, -2, "arch");
  lua_newtable(L);
  set_flag(L, "epilogue_only", key->algorithm == LAMPAR_EPILOGUE_ONLY);
  /* In two-shot the sums travel, rounded. */
  set_flag(L, "twoshot", !is_fused(p) || key->rounding == LAMPAR_ROUNDING_UNFUSED);
  lua_setfield(L, -2, "algorithms");
  set_flag(L, "is_fused", is_fused(p));
  set_integer(L, "world", key->world);
  set_integer(L, "hidden", key->hidden);
  set_integer(L, "element_bytes", lampar_dtype_bytes(key->dtype));
  set_integer(L, "mailbox_bytes", LAMPAR_MAILBOX_BYTES);
  set_integer(L, "warps_max", LAMPAR_WARPS_MAX);
  set_integer(L, "cluster_max", LAMPAR_CLUSTER_MAX);
  set_integer(L, "rows", rows_of(p));
  set_integer(L, "bytes", bytes_of(p));
  lua_call(L, 1, 2);
}

static int64_t field(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  const int64_t value = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  return value;
}

/* From the shape on top of the stack. */
static void fill_shape(lua_State *L, lampar_variant *variant) {
  lua_getfield(L, -1, "algorithm");
  if (!lampar_algorithm_parse(luaL_checkstring(L, -1), &variant->algorithm))
    luaL_error(L, "geometry.lua: unknown algorithm %s", lua_tostring(L, -1));
  lua_pop(L, 1);
  variant->threads = (uint32_t)field(L, "threads");
  variant->cluster = (uint32_t)field(L, "cluster");
  variant->vectors_per_warp = (uint32_t)field(L, "vectors_per_warp");
  variant->persistent = (uint32_t)field(L, "persistent");
  variant->max_rows = (uint32_t)field(L, "rows");
  variant->max_bytes = (uint64_t)field(L, "bytes");
}

static lampar_status add_variant(lampar_plan *plan, const lampar_variant *variant) {
  const uint64_t mailboxes = lampar_variant_max_mailboxes(variant);
  if (mailboxes <= LAMPAR_VECTORS_MAX) {
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): luaL_error does not return */
    plan->variants[plan->variant_count++] = *variant;
    return LAMPAR_OK;
  }
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  return skip(plan, name, "takes %llu mailboxes, a kernel counts to %llu; ask for fewer %s",
              (unsigned long long)mailboxes, (unsigned long long)LAMPAR_VECTORS_MAX,
              variant->hidden > 0 ? "rows" : "bytes");
}

static void add_kernels(lua_State *L, planning *p) {
  lampar_plan *plan = p->plan;
  push_shapes(L, p);
  lampar_status status = LAMPAR_OK;
  if (lua_toboolean(L, -1)) {
    char what[LAMPAR_EPILOGUE_BYTES + 32];
    snprintf(what, sizeof what, "two-shot of epilogue %s", p->key.epilogue);
    status = skip(plan, what,
                  "with rounding = \"fp32\" no rounded sum may travel between ranks; one-shot "
                  "takes the calls of every size");
  }
  lua_pop(L, 1);
  const lua_Integer count = luaL_len(L, -1);
  if (count < 1) luaL_error(L, "geometry.lua: no shape for a key");
  lampar_variant *variants =
      realloc(plan->variants, (plan->variant_count + (size_t)count) * sizeof *variants);
  if (variants == NULL) luaL_error(L, "out of memory for the plan");
  plan->variants = variants;
  for (lua_Integer i = 1; status == LAMPAR_OK && i <= count; ++i) {
    lua_rawgeti(L, -1, i);
    lampar_variant variant = p->key;
    fill_shape(L, &variant);
    lua_pop(L, 1);
    status = add_variant(plan, &variant);
  }
  if (status != LAMPAR_OK) luaL_error(L, "%s", lampar_last_error());
  lua_pop(L, 1);
}

static int expand_key(lua_State *L) {
  planning *p = lua_touserdata(L, 1);
  if (!is_fused(p) || declare_epilogue(L, p)) add_kernels(L, p);
  return 0;
}

/* ---- all keys ---- */

/* Programmatic launch comes with sm_90; the emulated device has it. */
static uint32_t trigger_of(const lampar_spec *spec, uint32_t arch) {
  return arch < 90 && arch != LAMPAR_ARCH_EMU ? LAMPAR_TRIGGER_OFF : spec->trigger;
}

static lampar_status expand_world(planning *p, lampar_sandbox *sandbox, uint32_t arch,
                                  uint32_t world) {
  const lampar_spec *spec = p->spec;
  for (size_t d = 0; d < spec->dtype_count; ++d)
    for (size_t h = 0; h < p->width_count; ++h) {
      if (is_fused(p) && p->widths[h] == 0) continue;
      p->key = (lampar_variant){
          .arch = arch,
          .algorithm = world == 1 ? LAMPAR_EPILOGUE_ONLY : LAMPAR_ONESHOT,
          .world = world,
          .dtype = spec->dtypes[d],
          .hidden = p->widths[h],
          .rounding = is_fused(p) ? spec->rounding : LAMPAR_ROUNDING_UNFUSED,
          .trigger = trigger_of(spec, arch),
          .watchdog_ms = world == 1 ? 0 : spec->watchdog_ms,
          .alignment = spec->alignment,
      };
      LAMPAR_TRY(lampar_sandbox_run(sandbox, spec->name, expand_key, p));
    }
  return LAMPAR_OK;
}

static lampar_status expand_epilogue(planning *p, lampar_sandbox *sandbox) {
  const lampar_spec *spec = p->spec;
  const size_t before = p->plan->variant_count;
  for (size_t a = 0; a < spec->arch_count; ++a) {
    if (is_fused(p)) LAMPAR_TRY(expand_world(p, sandbox, spec->archs[a], 1));
    for (size_t w = 0; w < spec->world_count; ++w)
      LAMPAR_TRY(expand_world(p, sandbox, spec->archs[a], spec->worlds[w]));
  }
  if (p->plan->variant_count > before) return LAMPAR_OK;
  assert(p->plan->skip_count > 0); /* geometry.lua gives at least one shape for every key */
  const lampar_skip *last = &p->plan->skips[p->plan->skip_count - 1];
  return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: no kernel is left: %s: %s", p->epilogue->where,
                     last->what, last->why);
}

/* "weight = "same"" and no weight are the same epilogue, and "a+b_c" and "a_b+c" the same name. */
static lampar_status check_names(const planning *p) {
  const lampar_plan *plan = p->plan;
  for (size_t i = 1; i < plan->variant_count; ++i) {
    const lampar_variant *a = &plan->variants[i - 1], *b = &plan->variants[i];
    if (lampar_variant_compare(a, b) == 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "%s: two entries of epilogue mean the same, %s; leave one out",
                         p->spec->name, a->epilogue);
  }
  for (size_t i = 0; i < plan->variant_count; ++i)
    for (size_t j = 0; j < i; ++j) {
      const lampar_variant *a = &plan->variants[i], *b = &plan->variants[j];
      if (a->arch != b->arch || a->world != b->world || a->dtype != b->dtype ||
          a->hidden != b->hidden || a->persistent != b->persistent || a->max_rows != b->max_rows)
        continue;
      char first[LAMPAR_NAME_BYTES], second[LAMPAR_NAME_BYTES];
      lampar_variant_name(a, first);
      lampar_variant_name(b, second);
      if (strcmp(first, second) == 0)
        return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                           "%s: the epilogues %s and %s give kernels of one name; rename a stage",
                           p->spec->name, b->epilogue, a->epilogue);
    }
  return LAMPAR_OK;
}

static int by_key(const void *a, const void *b) {
  return lampar_variant_compare(a, b);
}

static lampar_status expand(planning *p, lampar_sandbox *sandbox) {
  for (size_t e = 0; e < p->spec->epilogue_count; ++e) {
    p->epilogue = &p->spec->epilogues[e];
    LAMPAR_TRY(expand_epilogue(p, sandbox));
  }
  return LAMPAR_OK;
}

static lampar_status copy_stages(const lampar_spec *spec, lampar_plan *plan) {
  if (spec->stages == NULL) return LAMPAR_OK;
  plan->stages = strdup(spec->stages);
  plan->stages_folder = strdup(spec->stages_folder);
  if (plan->stages != NULL && plan->stages_folder != NULL) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the plan");
}

static lampar_status make(planning *p) {
  const lampar_spec *spec = p->spec;
  lampar_plan *plan = p->plan;
  snprintf(plan->name, sizeof plan->name, "%s", spec->name);
  plan->needs_nvlink = spec->needs_nvlink;
  LAMPAR_TRY(copy_stages(spec, plan));
  LAMPAR_TRY(choose_widths(p));

  const uint64_t keys = (uint64_t)spec->arch_count * spec->world_count * spec->dtype_count *
                        (uint64_t)p->width_count * spec->epilogue_count;
  if (keys > LAMPAR_PACK_RECORDS_MAX) return too_many(p, keys, " or more");

  lampar_sandbox *sandbox;
  LAMPAR_TRY(lampar_sandbox_open(&sandbox));
  const lampar_status status = expand(p, sandbox);
  lampar_sandbox_close(sandbox);
  LAMPAR_TRY(status);

  if (plan->variant_count > LAMPAR_PACK_RECORDS_MAX) return too_many(p, plan->variant_count, "");
  qsort(plan->variants, plan->variant_count, sizeof *plan->variants, by_key);
  return check_names(p);
}

lampar_status lampar_plan_make(const lampar_spec *spec, const char *templates, lampar_plan *plan,
                               lampar_files *read) {
  *plan = (lampar_plan){0};
  planning p = {.spec = spec, .plan = plan, .run = {.templates = templates, .read = read}};
  const lampar_status status = make(&p);
  free(p.run.held);
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
  free(plan->stages);
  free(plan->stages_folder);
  *plan = (lampar_plan){0};
}

uint64_t lampar_plan_mailboxes(const lampar_plan *plan, uint32_t world) {
  uint64_t most = 0;
  for (size_t i = 0; i < plan->variant_count; ++i) {
    const lampar_variant *variant = &plan->variants[i];
    const uint64_t mailboxes = lampar_variant_max_mailboxes(variant);
    if (variant->world == world && mailboxes > most) most = mailboxes;
  }
  return most;
}

int lampar_plan_name_width(const lampar_plan *plan) {
  size_t width = 0;
  for (size_t i = 0; i < plan->variant_count; ++i) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&plan->variants[i], name);
    if (strlen(name) > width) width = strlen(name);
  }
  return (int)width;
}
