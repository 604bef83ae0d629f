/* plan.json: the plan for people, scripts and the next step of an offline build. */
#include "plan/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/error.h"
#include "pack/pack_format.h"
#include "plan/json_text.h"
#include "plan/variant_json.h"

/* ---- writing ---- */

static bool add_variant(cJSON *list, const lampar_variant *variant) {
  cJSON *entry = cJSON_CreateObject();
  return entry != NULL && cJSON_AddItemToArray(list, entry) &&
         lampar_variant_to_json(entry, variant);
}

static bool add_workspace(cJSON *list, const lampar_plan *plan, uint32_t world) {
  const uint64_t mailboxes = lampar_plan_mailboxes(plan, world);
  if (mailboxes == 0) return true;
  cJSON *entry = cJSON_CreateObject();
  if (entry == NULL || !cJSON_AddItemToArray(list, entry)) return false;
  return cJSON_AddNumberToObject(entry, "world", world) != NULL &&
         cJSON_AddNumberToObject(entry, "mailboxes", (double)mailboxes) != NULL &&
         cJSON_AddNumberToObject(entry, "bytes",
                                 (double)lampar_workspace_bytes(mailboxes, world)) != NULL;
}

static bool add_skip(cJSON *list, const lampar_skip *skip) {
  cJSON *entry = cJSON_CreateObject();
  if (entry == NULL || !cJSON_AddItemToArray(list, entry)) return false;
  return cJSON_AddStringToObject(entry, "what", skip->what) != NULL &&
         cJSON_AddStringToObject(entry, "why", skip->why) != NULL;
}

static bool fill(cJSON *root, const lampar_plan *plan) {
  bool good =
      cJSON_AddNumberToObject(root, "schema_version", LAMPAR_PLAN_SCHEMA) != NULL &&
      cJSON_AddStringToObject(root, "name", plan->name) != NULL &&
      cJSON_AddBoolToObject(root, "needs_nvlink", plan->needs_nvlink) != NULL &&
      (plan->stages == NULL || cJSON_AddStringToObject(root, "stages", plan->stages) != NULL);
  cJSON *list = good ? cJSON_AddArrayToObject(root, "kernels") : NULL;
  good = list != NULL;
  for (size_t i = 0; good && i < plan->variant_count; ++i)
    good = add_variant(list, &plan->variants[i]);
  list = good ? cJSON_AddArrayToObject(root, "skipped") : NULL;
  good = list != NULL;
  for (size_t i = 0; good && i < plan->skip_count; ++i) good = add_skip(list, &plan->skips[i]);
  list = good ? cJSON_AddArrayToObject(root, "workspace") : NULL;
  good = list != NULL;
  for (uint32_t world = 2; good && world <= LAMPAR_WORLD_MAX; ++world)
    good = add_workspace(list, plan, world);
  return good;
}

lampar_status lampar_plan_to_json(const lampar_plan *plan, char **text) {
  cJSON *const root = cJSON_CreateObject();
  return lampar_json_text(root, root != NULL && fill(root, plan), text);
}

/* ---- reading ---- */

static lampar_status damaged(const char *where, const char *what) {
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "%s: not a plan that this lampar wrote: %s; create it again with `lampar plan SPEC "
      "--json`",
      where, what);
}

static bool read_integer(const cJSON *object, const char *name, double limit, uint64_t *value) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (!cJSON_IsNumber(item)) return false;
  const double number = item->valuedouble;
  if (!(number >= 0 && number <= limit) || number != floor(number)) return false;
  *value = (uint64_t)number;
  return true;
}

static const char *read_text(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static bool read_skip(const cJSON *entry, lampar_skip *skip) {
  const char *what = read_text(entry, "what"), *why = read_text(entry, "why");
  if (what == NULL || why == NULL) return false;
  *skip = (lampar_skip){strdup(what), strdup(why)};
  return true;
}

static lampar_status read_lists(const char *where, const cJSON *root, lampar_plan *plan) {
  const cJSON *kernels = cJSON_GetObjectItemCaseSensitive(root, "kernels");
  const cJSON *skipped = cJSON_GetObjectItemCaseSensitive(root, "skipped");
  const int kernel_count = cJSON_GetArraySize(kernels), skip_count = cJSON_GetArraySize(skipped);
  if (!cJSON_IsArray(kernels) || !cJSON_IsArray(skipped) || kernel_count < 1 ||
      kernel_count > LAMPAR_PACK_RECORDS_MAX)
    return damaged(where, "its lists are missing, empty or too long");
  plan->variants = calloc((size_t)kernel_count, sizeof *plan->variants);
  plan->skips = calloc((size_t)skip_count + 1, sizeof *plan->skips);
  if (plan->variants == NULL || plan->skips == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", where);
  const cJSON *entry;
  cJSON_ArrayForEach(entry, kernels) {
    if (!lampar_variant_from_json(entry, &plan->variants[plan->variant_count++]))
      return damaged(where, "a kernel's fields are damaged or do not make its name");
  }
  cJSON_ArrayForEach(entry, skipped) {
    if (!read_skip(entry, &plan->skips[plan->skip_count++]))
      return damaged(where, "an entry of skipped is damaged");
  }
  return LAMPAR_OK;
}

static lampar_status read_plan(const char *where, const cJSON *root, lampar_plan *plan) {
  uint64_t schema;
  if (!read_integer(root, "schema_version", 0x1p31, &schema))
    return damaged(where, "it has no schema_version");
  if (schema != LAMPAR_PLAN_SCHEMA)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "%s: a plan of schema %llu, this lampar reads %d; create it again with `lampar plan "
        "SPEC --json`",
        where, (unsigned long long)schema, LAMPAR_PLAN_SCHEMA);
  const char *name = read_text(root, "name");
  const cJSON *nvlink = cJSON_GetObjectItemCaseSensitive(root, "needs_nvlink");
  if (name == NULL || strlen(name) >= sizeof plan->name || !cJSON_IsBool(nvlink))
    return damaged(where, "name or needs_nvlink is missing");
  memcpy(plan->name, name, strlen(name) + 1);
  plan->needs_nvlink = cJSON_IsTrue(nvlink);
  const char *stages = read_text(root, "stages");
  if (stages != NULL && (plan->stages = strdup(stages)) == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", where);
  return read_lists(where, root, plan);
}

/* The plan, written again, must give the same text: this finds unknown fields, a wrong order and
 * wrong totals. */
static lampar_status check_round_trip(const char *where, const char *text,
                                      const lampar_plan *plan) {
  char *again;
  LAMPAR_TRY(lampar_plan_to_json(plan, &again));
  size_t at = 0, line = 1;
  for (; text[at] != '\0' && text[at] == again[at]; ++at) line += text[at] == '\n';
  const bool equal = text[at] == again[at];
  free(again);
  if (!equal)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "%s:%zu: not what this lampar writes for such a plan; create it again with `lampar "
        "plan SPEC --json`",
        where, line);
  for (size_t i = 1; i < plan->variant_count; ++i)
    if (lampar_variant_compare(&plan->variants[i - 1], &plan->variants[i]) >= 0)
      return damaged(where, "its kernels are not sorted");
  return LAMPAR_OK;
}

lampar_status lampar_plan_from_json(const char *where, const char *text, lampar_plan *plan) {
  *plan = (lampar_plan){0};
  cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
  if (root == NULL) return damaged(where, "it is not JSON");
  lampar_status status = read_plan(where, root, plan);
  cJSON_Delete(root);
  if (status == LAMPAR_OK) status = check_round_trip(where, text, plan);
  if (status != LAMPAR_OK) lampar_plan_free(plan);
  return status;
}

lampar_status lampar_plan_read(const char *path, lampar_plan *plan) {
  *plan = (lampar_plan){0};
  char *text;
  size_t size;
  LAMPAR_TRY(lampar_file_read(path, LAMPAR_PLAN_BYTES_MAX, &text, &size));
  const lampar_status status = strlen(text) == size ? lampar_plan_from_json(path, text, plan)
                                                    : damaged(path, "it holds a zero byte");
  free(text);
  return status;
}
