#include "pack/variant.h"

#include <stdio.h>
#include <string.h>

#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"

static uint64_t vectors_of(uint64_t bytes) {
  return bytes / LAMPAR_MAILBOX_BYTES + (bytes % LAMPAR_MAILBOX_BYTES != 0);
}

uint64_t lampar_variant_row_mailboxes(const lampar_variant *variant) {
  return vectors_of((uint64_t)variant->hidden * lampar_dtype_bytes(variant->dtype));
}

/* Warp-wide vectors of a message. */
static uint64_t message_vectors(const lampar_variant *variant, uint64_t rows, uint64_t hidden) {
  if (variant->hidden > 0) return rows * lampar_variant_row_mailboxes(variant);
  return vectors_of(rows * hidden * lampar_dtype_bytes(variant->dtype));
}

static uint64_t largest_message_vectors(const lampar_variant *variant) {
  return variant->hidden > 0 ? message_vectors(variant, variant->max_rows, 0)
                             : vectors_of(variant->max_bytes);
}

static bool is_word(const char *text, size_t size, const char *more) {
  const char *const end = memchr(text, '\0', size);
  for (; end != NULL && text < end; ++text)
    if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && *text != '_' &&
        strchr(more, *text) == NULL)
      return false;
  return end != NULL;
}

static bool is_operand_valid(const lampar_operand_info *operand) {
  return is_word(operand->name, sizeof operand->name, "") && operand->name[0] != '\0' &&
         lampar_dtype_name(operand->dtype) != NULL &&
         lampar_granularity_name(operand->granularity) != NULL && operand->output <= 1 &&
         (operand->granularity == LAMPAR_GRANULARITY_GROUP) == (operand->group > 0) &&
         (operand->granularity != LAMPAR_GRANULARITY_CALL ||
          (operand->dtype == LAMPAR_F32 && !operand->output));
}

static bool has_valid_operands(const lampar_variant *v) {
  if (v->operand_count > LAMPAR_OPERANDS_MAX) return false;
  for (uint32_t i = 0; i < v->operand_count; ++i) {
    if (!is_operand_valid(&v->operands[i])) return false;
    for (uint32_t j = 0; j < i; ++j)
      if (strcmp(v->operands[i].name, v->operands[j].name) == 0) return false;
  }
  return true;
}

static bool has_valid_epilogue(const lampar_variant *v) {
  if (!is_word(v->epilogue, sizeof v->epilogue, "+.")) return false;
  if (v->epilogue[0] == '\0')
    return v->operand_count == 0 && v->rounding == LAMPAR_ROUNDING_UNFUSED && v->cluster == 1 &&
           v->vectors_per_warp == 1;
  /* Two-shot sends rounded sums, which fp32 rounding rules out. */
  if (v->algorithm == LAMPAR_TWOSHOT && v->rounding == LAMPAR_ROUNDING_FP32) return false;
  const bool has_clusters = v->arch >= 90 || v->arch == LAMPAR_ARCH_EMU;
  const uint64_t row = lampar_variant_row_mailboxes(v);
  return v->hidden > 0 && v->cluster >= 1 &&
         v->cluster <= (has_clusters ? LAMPAR_CLUSTER_MAX : 1) && row % v->cluster == 0 &&
         v->vectors_per_warp >= 1 && v->vectors_per_warp <= row &&
         (uint64_t)v->cluster * (v->threads / 32) * v->vectors_per_warp >= row &&
         has_valid_operands(v);
}

static bool has_valid_world(const lampar_variant *v) {
  static const uint32_t least[] = {
      [LAMPAR_EPILOGUE_ONLY] = 1, [LAMPAR_ONESHOT] = 2, [LAMPAR_TWOSHOT] = 3};
  if (lampar_algorithm_name(v->algorithm) == NULL) return false;
  if (v->algorithm == LAMPAR_EPILOGUE_ONLY) return v->world == 1 && v->epilogue[0] != '\0';
  return v->world >= least[v->algorithm] && v->world <= LAMPAR_WORLD_MAX;
}

bool lampar_variant_is_valid(const lampar_variant *v) {
  return lampar_arch_name(v->arch) != NULL && has_valid_world(v) &&
         lampar_dtype_has_kernels(v->dtype) && v->hidden % 8 == 0 && v->persistent <= 1 &&
         (v->hidden == 0) == (v->max_rows == 0) && v->max_bytes > 0 && v->threads > 0 &&
         v->threads <= 32 * LAMPAR_WARPS_MAX && v->threads % 32 == 0 &&
         v->trigger <= LAMPAR_TRIGGER_EXIT &&
         (v->alignment == 0 || v->alignment == LAMPAR_VECTOR_BYTES) &&
         lampar_rounding_name(v->rounding) != NULL && has_valid_epilogue(v) &&
         largest_message_vectors(v) <= LAMPAR_VECTORS_MAX;
}

int lampar_variant_operand(const lampar_variant *variant, const char *name) {
  for (uint32_t i = 0; i < variant->operand_count; ++i)
    if (strcmp(variant->operands[i].name, name) == 0) return (int)i;
  return -1;
}

static int compare(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

int lampar_variant_compare(const lampar_variant *a, const lampar_variant *b) {
  int order = compare(a->arch, b->arch);
  if (order == 0) order = compare(a->world, b->world);
  if (order == 0) order = compare(a->dtype, b->dtype);
  if (order == 0) order = strncmp(a->epilogue, b->epilogue, sizeof a->epilogue);
  if (order == 0) order = compare(a->rounding, b->rounding);
  if (order == 0) order = compare(a->hidden, b->hidden);
  if (order == 0) order = compare(a->max_bytes, b->max_bytes);
  if (order == 0) order = compare(a->persistent, b->persistent);
  if (order == 0) order = compare(a->algorithm, b->algorithm);
  if (order == 0) order = compare(a->alignment, b->alignment);
  return order;
}

void lampar_variant_name(const lampar_variant *variant, char name[LAMPAR_NAME_BYTES]) {
  char start[24] = "ep", epilogue[LAMPAR_EPILOGUE_BYTES + 8] = "", shape[12] = "flat",
       limit[24] = "";
  if (variant->algorithm != LAMPAR_EPILOGUE_ONLY)
    snprintf(start, sizeof start, "ar_%s_w%u", lampar_algorithm_name(variant->algorithm),
             variant->world);
  if (variant->epilogue[0] != '\0')
    snprintf(epilogue, sizeof epilogue, "_%s%s", variant->epilogue,
             variant->rounding == LAMPAR_ROUNDING_FP32 ? "_fp32" : "");
  for (char *at = epilogue; *at != '\0'; ++at)
    if (*at == '+' || *at == '.') *at = '_';
  if (variant->hidden > 0) snprintf(shape, sizeof shape, "h%u", variant->hidden);
  if (!variant->persistent) {
    if (variant->hidden > 0) snprintf(limit, sizeof limit, "_r%u", variant->max_rows);
    else snprintf(limit, sizeof limit, "_b%llu", (unsigned long long)variant->max_bytes);
  }
  snprintf(name, LAMPAR_NAME_BYTES, "%s%s_%s_%s_%s%s", start, epilogue,
           lampar_dtype_name(variant->dtype), shape, lampar_arch_name(variant->arch), limit);
}

static uint64_t mailboxes_of(const lampar_variant *variant, uint64_t vectors) {
  return variant->algorithm == LAMPAR_EPILOGUE_ONLY ? 0 : vectors;
}

uint64_t lampar_variant_mailboxes(const lampar_variant *variant, uint64_t rows, uint64_t hidden) {
  return mailboxes_of(variant, message_vectors(variant, rows, hidden));
}

uint64_t lampar_variant_max_mailboxes(const lampar_variant *variant) {
  return mailboxes_of(variant, largest_message_vectors(variant));
}

uint64_t lampar_workspace_bytes(uint64_t mailboxes, uint32_t world) {
  return mailboxes * (2ull * world * LAMPAR_MAILBOX_BYTES + sizeof(uint32_t));
}
