#include "pack/enum_names.h"

#include <string.h>

#include "pack/variant.h"

static const char *const algorithms[] = {[LAMPAR_EPILOGUE_ONLY] = "epilogue_only",
                                         [LAMPAR_ONESHOT] = "oneshot",
                                         [LAMPAR_TWOSHOT] = "twoshot"};
static const char *const roundings[] = {
    [LAMPAR_ROUNDING_UNFUSED] = "unfused", [LAMPAR_ROUNDING_FP32] = "fp32"};
static const char *const granularities[] = {
    [LAMPAR_GRANULARITY_ELEMENT] = "element", [LAMPAR_GRANULARITY_COLUMN] = "column",
    [LAMPAR_GRANULARITY_ROW] = "row",         [LAMPAR_GRANULARITY_TENSOR] = "tensor",
    [LAMPAR_GRANULARITY_GROUP] = "group",     [LAMPAR_GRANULARITY_CALL] = "call"};
static const char *const triggers[] = {
    [LAMPAR_TRIGGER_OFF] = "off", [LAMPAR_TRIGGER_EARLY] = "early", [LAMPAR_TRIGGER_EXIT] = "exit"};

typedef struct enum_names {
  const char *const *list;
  uint32_t count;
} enum_names;

static const enum_names algorithm_names = {algorithms, sizeof algorithms / sizeof algorithms[0]};
static const enum_names rounding_names = {roundings, sizeof roundings / sizeof roundings[0]};
static const enum_names granularity_names = {granularities,
                                             sizeof granularities / sizeof granularities[0]};
static const enum_names trigger_names = {triggers, sizeof triggers / sizeof triggers[0]};

static const char *name_of(enum_names names, uint32_t value) {
  return value < names.count ? names.list[value] : NULL;
}

static bool parse(enum_names names, const char *name, uint32_t *value) {
  for (uint32_t i = 0; i < names.count; ++i) {
    if (strcmp(names.list[i], name) != 0) continue;
    *value = i;
    return true;
  }
  return false;
}

const char *lampar_algorithm_name(uint32_t algorithm) {
  return name_of(algorithm_names, algorithm);
}

bool lampar_algorithm_parse(const char *name, uint32_t *algorithm) {
  return parse(algorithm_names, name, algorithm);
}

const char *lampar_rounding_name(uint32_t rounding) {
  return name_of(rounding_names, rounding);
}

bool lampar_rounding_parse(const char *name, uint32_t *rounding) {
  return parse(rounding_names, name, rounding);
}

const char *lampar_granularity_name(uint32_t granularity) {
  return name_of(granularity_names, granularity);
}

bool lampar_granularity_parse(const char *name, uint32_t *granularity) {
  return parse(granularity_names, name, granularity);
}

const char *lampar_trigger_name(uint32_t trigger) {
  return name_of(trigger_names, trigger);
}

bool lampar_trigger_parse(const char *name, uint32_t *trigger) {
  return parse(trigger_names, name, trigger);
}
