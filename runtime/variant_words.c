/* The words for the numbers of a variant. */
#include "variant.h"

#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
  bool has_kernels;
} dtypes[] = {
    [LAMPAR_BF16] = {"bf16", 2, true},
    [LAMPAR_F16] = {"f16", 2, true},
    [LAMPAR_F32] = {"f32", 4, true},
    [LAMPAR_F64] = {"f64", 8, false},
    [LAMPAR_I8] = {"i8", 1, false},
    [LAMPAR_U8] = {"u8", 1, false},
    [LAMPAR_I32] = {"i32", 4, false},
    [LAMPAR_U32] = {"u32", 4, false},
    [LAMPAR_I64] = {"i64", 8, false},
    [LAMPAR_U64] = {"u64", 8, false},
    [LAMPAR_F8E4M3] = {"f8e4m3", 1, false},
    [LAMPAR_F8E5M2] = {"f8e5m2", 1, false},
    [LAMPAR_F4E2M1X2] = {"f4e2m1x2", 1, false},
};
enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

const uint32_t lampar_archs[] = {LAMPAR_ARCH_EMU, 80, 89, 90, 100, 103, 120, 0};
static const char *const arch_names[] = {"emu",    "sm_80",  "sm_89", "sm_90",
                                         "sm_100", "sm_103", "sm_120"};

size_t lampar_dtype_bytes(uint32_t dtype) {
  return dtype < DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

const char *lampar_dtype_name(uint32_t dtype) {
  return dtype < DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

bool lampar_dtype_parse(const char *name, uint32_t *dtype) {
  for (uint32_t i = 0; i < DTYPE_COUNT; ++i) {
    if (strcmp(dtypes[i].name, name) != 0) continue;
    *dtype = i;
    return true;
  }
  return false;
}

bool lampar_dtype_has_kernels(uint32_t dtype) {
  return dtype < DTYPE_COUNT && dtypes[dtype].has_kernels;
}

const char *lampar_arch_name(uint32_t arch) {
  for (size_t i = 0; lampar_archs[i] != 0; ++i)
    if (lampar_archs[i] == arch) return arch_names[i];
  return NULL;
}

bool lampar_arch_parse(const char *name, uint32_t *arch) {
  for (size_t i = 0; lampar_archs[i] != 0; ++i) {
    if (strcmp(arch_names[i], name) != 0) continue;
    *arch = lampar_archs[i];
    return true;
  }
  return false;
}

bool lampar_arch_runs(uint32_t arch, uint32_t capability) {
  return arch / 10 == capability / 10 && arch <= capability;
}

/* ---- enums without more to them ---- */

static const char *const algorithms[] = {
    [LAMPAR_ALONE] = "alone", [LAMPAR_ONESHOT] = "oneshot", [LAMPAR_TWOSHOT] = "twoshot"};
static const char *const roundings[] = {
    [LAMPAR_ROUNDING_UNFUSED] = "unfused", [LAMPAR_ROUNDING_FP32] = "fp32"};
static const char *const pers[] = {
    [LAMPAR_PER_ELEMENT] = "element", [LAMPAR_PER_COLUMN] = "column", [LAMPAR_PER_ROW] = "row",
    [LAMPAR_PER_TENSOR] = "tensor",   [LAMPAR_PER_GROUP] = "group",   [LAMPAR_PER_CALL] = "call"};
static const char *const triggers[] = {
    [LAMPAR_TRIGGER_OFF] = "off", [LAMPAR_TRIGGER_EARLY] = "early", [LAMPAR_TRIGGER_EXIT] = "exit"};

typedef struct words {
  const char *const *list;
  uint32_t count;
} words;

static const words algorithm_words = {algorithms, sizeof algorithms / sizeof algorithms[0]};
static const words rounding_words = {roundings, sizeof roundings / sizeof roundings[0]};
static const words per_words = {pers, sizeof pers / sizeof pers[0]};
static const words trigger_words = {triggers, sizeof triggers / sizeof triggers[0]};

static const char *word(words of, uint32_t value) {
  return value < of.count ? of.list[value] : NULL;
}

static bool parse(words of, const char *name, uint32_t *value) {
  for (uint32_t i = 0; i < of.count; ++i) {
    if (strcmp(of.list[i], name) != 0) continue;
    *value = i;
    return true;
  }
  return false;
}

const char *lampar_algorithm_name(uint32_t algorithm) {
  return word(algorithm_words, algorithm);
}

bool lampar_algorithm_parse(const char *name, uint32_t *algorithm) {
  return parse(algorithm_words, name, algorithm);
}

const char *lampar_rounding_name(uint32_t rounding) {
  return word(rounding_words, rounding);
}

bool lampar_rounding_parse(const char *name, uint32_t *rounding) {
  return parse(rounding_words, name, rounding);
}

const char *lampar_per_name(uint32_t per) {
  return word(per_words, per);
}

bool lampar_per_parse(const char *name, uint32_t *per) {
  return parse(per_words, name, per);
}

const char *lampar_trigger_name(uint32_t trigger) {
  return word(trigger_words, trigger);
}

bool lampar_trigger_parse(const char *name, uint32_t *trigger) {
  return parse(trigger_words, name, trigger);
}
