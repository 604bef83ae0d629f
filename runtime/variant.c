#include "variant.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  size_t bytes;
  bool has_kernels;
} dtypes[] = {
    [LAMPAR_BF16] = {"bf16", 2, true},      [LAMPAR_F16] = {"f16", 2, true},
    [LAMPAR_F32] = {"f32", 4, true},        [LAMPAR_F64] = {"f64", 8, false},
    [LAMPAR_I8] = {"i8", 1, false},         [LAMPAR_U8] = {"u8", 1, false},
    [LAMPAR_I32] = {"i32", 4, false},       [LAMPAR_U32] = {"u32", 4, false},
    [LAMPAR_I64] = {"i64", 8, false},       [LAMPAR_U64] = {"u64", 8, false},
    [LAMPAR_F8E4M3] = {"f8e4m3", 1, false}, [LAMPAR_F8E5M2] = {"f8e5m2", 1, false},
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

bool lampar_variant_is_valid(const lampar_variant *v) {
  return lampar_arch_name(v->arch) != NULL && v->world >= 2 && v->world <= LAMPAR_WORLD_MAX &&
         lampar_dtype_has_kernels(v->dtype) && v->hidden % 8 == 0 && v->looping <= 1 &&
         (v->hidden == 0) == (v->rows_limit == 0) && v->bytes_limit > 0 && v->threads > 0 &&
         v->threads <= 1024 && v->threads % 32 == 0 && v->trigger <= LAMPAR_TRIGGER_EXIT &&
         v->reserved == 0 && lampar_variant_mailboxes_limit(v) <= UINT32_MAX / 2;
}

static int compare(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

int lampar_variant_compare(const lampar_variant *a, const lampar_variant *b) {
  int order = compare(a->arch, b->arch);
  if (order == 0) order = compare(a->world, b->world);
  if (order == 0) order = compare(a->dtype, b->dtype);
  if (order == 0) order = compare(a->hidden, b->hidden);
  if (order == 0) order = compare(a->bytes_limit, b->bytes_limit);
  if (order == 0) order = compare(a->looping, b->looping);
  return order;
}

void lampar_variant_name(const lampar_variant *variant, char name[LAMPAR_NAME_BYTES]) {
  char shape[32] = "flat", limit[32] = "";
  if (variant->hidden > 0) snprintf(shape, sizeof shape, "h%u", variant->hidden);
  if (!variant->looping) {
    if (variant->hidden > 0) snprintf(limit, sizeof limit, "_r%u", variant->rows_limit);
    else snprintf(limit, sizeof limit, "_b%llu", (unsigned long long)variant->bytes_limit);
  }
  snprintf(name, LAMPAR_NAME_BYTES, "ar_oneshot_w%u_%s_%s_%s%s", variant->world,
           lampar_dtype_name(variant->dtype), shape, lampar_arch_name(variant->arch), limit);
}

static uint64_t mailboxes_of(uint64_t bytes) {
  return bytes / LAMPAR_MAILBOX_BYTES + (bytes % LAMPAR_MAILBOX_BYTES != 0);
}

uint64_t lampar_variant_mailboxes(const lampar_variant *variant, uint64_t rows,
                                  uint64_t row_length) {
  const uint64_t element = lampar_dtype_bytes(variant->dtype);
  if (variant->hidden > 0) return rows * mailboxes_of(variant->hidden * element);
  return mailboxes_of(rows * row_length * element);
}

uint64_t lampar_variant_mailboxes_limit(const lampar_variant *variant) {
  const uint64_t element = lampar_dtype_bytes(variant->dtype);
  if (variant->hidden > 0) return lampar_variant_mailboxes(variant, variant->rows_limit, 0);
  return lampar_variant_mailboxes(variant, 1, variant->bytes_limit / element);
}

uint64_t lampar_workspace_bytes(uint64_t mailboxes, uint32_t world) {
  return mailboxes * (2ull * world * LAMPAR_MAILBOX_BYTES + sizeof(uint32_t));
}
