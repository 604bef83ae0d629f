/* One specialised kernel: what a call must match, and how the kernel is built and launched. The
 * plan makes variants; generator and runtime read them. */
#ifndef LAMPAR_VARIANT_H
#define LAMPAR_VARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lampar/lampar.h"

enum {
  LAMPAR_MAILBOX_BYTES = 512, /* a warp-wide vector: 32 lanes x 16 bytes */
  LAMPAR_VECTOR_BYTES = 16,
  LAMPAR_WORLD_MAX = 16,
  LAMPAR_CLUSTER_MAX = 8,      /* what every device with clusters can launch */
  LAMPAR_WARPS_MAX = 32,       /* per block */
  LAMPAR_NAME_BYTES = 192,     /* of a kernel */
  LAMPAR_PACK_NAME_BYTES = 64, /* of a pack, which is its spec's name */
  /* Warp-wide vectors of a message: a warp counts them in 32 bits, and steps from one to the next
   * by the warps of the grid. */
  LAMPAR_VECTORS_MAX = INT32_MAX,
};

/* Where a kernel lets the next one start, in groups with programmatic launch. */
enum lampar_trigger { LAMPAR_TRIGGER_OFF = 0, LAMPAR_TRIGGER_EARLY = 1, LAMPAR_TRIGGER_EXIT = 2 };

/* How the ranks' data is combined. */
enum lampar_algorithm {
  LAMPAR_EPILOGUE_ONLY = 0, /* world 1: no exchange, only the epilogue */
  LAMPAR_ONESHOT = 1,       /* every rank pushes to every rank */
  LAMPAR_TWOSHOT = 2,       /* every rank pushes to an owner, which pushes the sum to every rank */
};

enum { LAMPAR_EPILOGUE_BYTES = 96, LAMPAR_OPERANDS_MAX = 12 };

typedef char lampar_epilogue_text[LAMPAR_EPILOGUE_BYTES];

/* The one list of a variant's fields: X(type, name, kind), in the order of plan.json. The struct
 * below, the record of a pack, plan.json, the manifest, the parameters of templates and
 * lampar_kernel_info are made from it; variant_fields.h says what the kinds mean. */
#define LAMPAR_VARIANT_FIELDS(X)                                                                   \
  X(uint32_t, arch, ARCH)                                                                          \
  X(uint32_t, algorithm, ALGORITHM)       /* enum lampar_algorithm */                              \
  X(uint32_t, world, NUMBER)              /* ranks */                                              \
  X(uint32_t, dtype, DTYPE)               /* lampar_dtype: bf16, f16 or f32 */                     \
  X(lampar_epilogue_text, epilogue, TEXT) /* "residual+rmsnorm"; "": plain */                      \
  X(uint32_t, rounding, ROUNDING)         /* lampar_rounding */                                    \
  X(uint32_t, hidden, NUMBER)             /* elements of a row; 0: flat */                         \
  X(uint32_t, max_rows, NUMBER)           /* most rows of a call; 0: flat */                       \
  X(uint64_t, max_bytes, SIZE)            /* most bytes of a call */                               \
  X(uint32_t, persistent, FLAG)           /* serves mailboxes, or rows, until none is left */      \
  X(uint32_t, threads, NUMBER)            /* per block, a multiple of 32 */                        \
  X(uint32_t, cluster, NUMBER) /* blocks that share a row; 1 unless the epilogue reduces rows */   \
  X(uint32_t, vectors_per_warp, NUMBER) /* mailboxes of a row that one warp serves in turn */      \
  X(uint32_t, trigger, TRIGGER)         /* enum lampar_trigger */                                  \
  X(uint32_t, watchdog_ms, NUMBER)      /* timeout of a wait; 0: none */                           \
  X(uint32_t, alignment, NUMBER)        /* of all pointers and row strides, in bytes: 16; 0: any */

typedef struct lampar_variant {
#define LAMPAR_MEMBER(type, name, kind) type name;
  LAMPAR_VARIANT_FIELDS(LAMPAR_MEMBER)
#undef LAMPAR_MEMBER
  uint32_t operand_count;
  lampar_operand_info operands[LAMPAR_OPERANDS_MAX];
} lampar_variant;

/* False for values that no plan makes. Every file that is read is checked with it. */
bool lampar_variant_is_valid(const lampar_variant *variant);

/* Index of the operand with that name; -1: there is none. */
int lampar_variant_operand(const lampar_variant *variant, const char *name);

/* Order of a pack: key first (arch, world, dtype, epilogue, rounding, hidden), then the limit,
 * single-pass before persistent, any address before aligned ones. The kernels of a call are
 * neighbours, whatever their algorithms. */
int lampar_variant_compare(const lampar_variant *a, const lampar_variant *b);

/* "ar_oneshot_w2_bf16_h7168_sm_90", "ar_twoshot_w8_residual_rmsnorm_bf16_h7168_sm_90",
 * "ep_residual_rmsnorm_bf16_h7168_sm_90" of world 1; "_fp32" before the dtype for that rounding. A
 * kernel with a limit of its own adds it: "..._r64" rows, or "..._b131072" bytes of a flat one.
 * It is also the kernel's symbol. */
void lampar_variant_name(const lampar_variant *variant, char name[LAMPAR_NAME_BYTES]);

/* Warp-wide vectors, and so mailboxes, of a row; 0: flat. */
uint64_t lampar_variant_row_mailboxes(const lampar_variant *variant);

/* Mailboxes that a call of rows x hidden elements uses in this variant: one for each warp-wide
 * vector, none for world 1. */
uint64_t lampar_variant_mailboxes(const lampar_variant *variant, uint64_t rows, uint64_t hidden);

/* Mailboxes of the largest call that it takes. */
uint64_t lampar_variant_max_mailboxes(const lampar_variant *variant);

/* Bytes of workspace on each rank for that many mailboxes: two halves of a slot for every source,
 * and one epoch. */
uint64_t lampar_workspace_bytes(uint64_t mailboxes, uint32_t world);

#endif
