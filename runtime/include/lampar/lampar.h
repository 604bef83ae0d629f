/* lampar: Lamport all-reduce kernels generated for exact shapes, with NCCL as the fallback.
 *
 * Each comment states, in this order: what a function does; who owns what; which thread may call it
 * and whether it is collective; how it relates to streams and graph capture; which errors it
 * returns. A collective function is called by every rank of the group.
 *
 * Structs that the caller fills start with their size, set by an _INIT macro, so that programs
 * built against an older header keep working. Structs that the library returns by pointer may grow
 * at their end.
 *
 * This header needs neither CUDA's nor NCCL's headers: streams and communicators are passed as the
 * pointers that those libraries use (CUstream or cudaStream_t, ncclComm_t). */
#ifndef LAMPAR_H
#define LAMPAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LAMPAR_API __attribute__((visibility("default")))
#else
#define LAMPAR_API
#endif

#define LAMPAR_VERSION_MAJOR 0
#define LAMPAR_VERSION_MINOR 1
#define LAMPAR_VERSION_PATCH 0

struct CUstream_st; /* CUstream, cudaStream_t */
struct ncclComm;    /* ncclComm_t */

/* New values are appended; before 1.0 a minor version may renumber them. */
typedef enum lampar_status {
  LAMPAR_OK = 0,
  LAMPAR_ERROR_ARGUMENT = 1,  /* the caller's mistake: a value, a size, the order of calls */
  LAMPAR_ERROR_SYSTEM = 2,    /* memory, files, threads */
  LAMPAR_ERROR_PACK = 3,      /* a file that is damaged or not a pack */
  LAMPAR_ERROR_VERSION = 4,   /* a pack in a format that this library does not read */
  LAMPAR_ERROR_DRIVER = 5,    /* no CUDA driver, or it returned an error */
  LAMPAR_ERROR_NCCL = 6,      /* no NCCL, or it returned an error */
  LAMPAR_ERROR_NO_KERNEL = 7, /* no kernel takes the call, and the group is strict or has no NCCL */
  LAMPAR_ERROR_CAPTURE = 8,   /* not allowed while a stream is being captured */
  LAMPAR_ERROR_TIMEOUT = 9,   /* a rank did not arrive in time */
  LAMPAR_ERROR_CANCELLED = 10, /* stopped by a function of the caller */
  LAMPAR_ERROR_MISMATCH = 11,  /* a result differs from the reference computed on the host */
} lampar_status;

/* Element types, named as in NCCL. Kernels reduce the first three; all others go to NCCL. */
typedef enum lampar_dtype {
  LAMPAR_BF16 = 0,
  LAMPAR_F16 = 1,
  LAMPAR_F32 = 2,
  LAMPAR_F64 = 3,
  LAMPAR_I8 = 4,
  LAMPAR_U8 = 5,
  LAMPAR_I32 = 6,
  LAMPAR_U32 = 7,
  LAMPAR_I64 = 8,
  LAMPAR_U64 = 9,
  LAMPAR_F8E4M3 = 10,
  LAMPAR_F8E5M2 = 11,
  LAMPAR_F4E2M1X2 = 12, /* two e2m1 per byte, the first in the low nibble; operands only */
} lampar_dtype;

/* Where a fused kernel rounds to the dtype. A call selects kernels by it. */
typedef enum lampar_rounding {
  LAMPAR_ROUNDING_UNFUSED = 0, /* after every stage, as separate kernels would */
  LAMPAR_ROUNDING_FP32 = 1,    /* only what is stored */
} lampar_rounding;

/* What an epilogue's operand holds, for `rows` rows of `hidden` elements. */
typedef enum lampar_granularity {
  LAMPAR_GRANULARITY_ELEMENT = 0, /* rows x hidden; rows may have a stride */
  LAMPAR_GRANULARITY_COLUMN = 1,  /* hidden, shared by all rows */
  LAMPAR_GRANULARITY_ROW = 2,     /* rows */
  LAMPAR_GRANULARITY_TENSOR = 3,  /* one number in device memory */
  LAMPAR_GRANULARITY_GROUP =
      4, /* one number per group of a row's elements, laid out as the stage defines */
  LAMPAR_GRANULARITY_CALL = 5, /* one fp32 number, passed by value */
} lampar_granularity;

/* Reductions. Kernels compute sums; all others go to NCCL. */
typedef enum lampar_op {
  LAMPAR_SUM = 0,
  LAMPAR_PROD = 1,
  LAMPAR_MAX = 2,
  LAMPAR_MIN = 3,
  LAMPAR_AVG = 4,
} lampar_op;

typedef enum lampar_path {
  LAMPAR_PATH_KERNEL = 0,
  LAMPAR_PATH_NCCL = 1,
} lampar_path;

/* Why a call, or every call of a group, goes to NCCL. lampar_reason_string has the text. */
typedef enum lampar_reason {
  LAMPAR_REASON_NONE = 0,               /* it does not: a kernel runs it */
  LAMPAR_REASON_DISABLED = 1,           /* LAMPAR_DISABLE is set on some rank */
  LAMPAR_REASON_NOT_ENABLED = 2,        /* the group's config did not opt in */
  LAMPAR_REASON_EXPERT_PARALLELISM = 3, /* the group contains expert parallelism */
  LAMPAR_REASON_RANKS_DISAGREE = 4,     /* packs, options or versions differ between ranks */
  LAMPAR_REASON_SEVERAL_NODES = 5,      /* the ranks are on more than one host */
  LAMPAR_REASON_NO_PEER_ACCESS = 6,     /* some pair of GPUs cannot reach each other's memory */
  LAMPAR_REASON_NO_NVLINK = 7,          /* the pack asks for NVLink and some pair has none */
  LAMPAR_REASON_SELF_TEST = 8,          /* the kernels gave a wrong sum, or none, at set-up */
  LAMPAR_REASON_ARCH = 9,               /* no pack has kernels for this GPU */
  LAMPAR_REASON_WORLD = 10,             /* no pack has kernels for this many ranks */
  LAMPAR_REASON_DTYPE = 11,             /* no kernel for the element type */
  LAMPAR_REASON_OP = 12,                /* no kernel for the reduction */
  LAMPAR_REASON_EPILOGUE = 13,          /* no kernel for the epilogue */
  LAMPAR_REASON_HIDDEN = 14,            /* no kernel for the hidden size, nor a flat one */
  LAMPAR_REASON_ROWS = 15,              /* more rows than the kernels of the packs take */
  LAMPAR_REASON_BYTES = 16,             /* more bytes than the workspace holds */
  LAMPAR_REASON_SETUP_FAILED = 17,      /* set-up failed on some rank; the report names it */
} lampar_reason;

enum { LAMPAR_REASONS_MAX = 32 }; /* in this and all later versions */

/* Constant text; never NULL, even for unknown values. Any thread. */
LAMPAR_API const char *lampar_status_string(lampar_status status);
LAMPAR_API const char *lampar_reason_string(lampar_reason reason);

/* The message of the calling thread's most recent error: what failed, in which file or on which
 * rank, and what to do. Valid until the thread's next call into the library. */
LAMPAR_API const char *lampar_last_error(void);

/* "major.minor.patch" of the loaded library. Any thread. */
LAMPAR_API const char *lampar_version(void);

/* ---- packs ------------------------------------------------------------------------------- */

/* A file of kernels, checked and mapped. Immutable: groups and threads may share it. */
typedef struct lampar_pack lampar_pack;

/* An operand that an epilogue declares. Returned by pointer: may grow. */
typedef struct lampar_operand_info {
  char name[24];        /* unique in the epilogue: "residual", "weight", "eps" */
  uint32_t dtype;       /* lampar_dtype */
  uint32_t granularity; /* lampar_granularity */
  uint32_t output;      /* 1: the kernel stores it */
  uint32_t group;       /* elements per group; 0 for other granularities */
} lampar_operand_info;

/* A kernel of a pack. Start from LAMPAR_KERNEL_INFO_INIT. The pack owns everything it points to. */
typedef struct lampar_kernel_info {
  size_t size;           /* sizeof(lampar_kernel_info) of the caller */
  const char *name;      /* also the kernel's symbol */
  const char *arch;      /* "sm_90" */
  const char *algorithm; /* "oneshot", "twoshot", or "epilogue_only" for a world of 1 */
  int world;             /* ranks */
  lampar_dtype dtype;
  const char *epilogue; /* "residual+rmsnorm"; "": none */
  lampar_rounding rounding;
  const lampar_operand_info *const *operands; /* operand_count pointers */
  uint32_t operand_count;
  uint32_t hidden;           /* elements per row; 0: a flat kernel, for any number of elements */
  uint32_t max_rows;         /* maximum rows per call; 0 for a flat kernel */
  uint64_t max_bytes;        /* maximum bytes per call */
  int persistent;            /* 1: a warp serves several mailboxes in turn, if need be */
  uint32_t threads;          /* per block */
  uint32_t cluster;          /* blocks that share a row */
  uint32_t vectors_per_warp; /* warp-wide vectors of a row per warp */
  const char *trigger;       /* where it lets the next kernel start: "early", "exit", "off" */
  uint32_t watchdog_ms;      /* timeout of a wait for other ranks; 0: none */
  uint32_t alignment;        /* 16: required of pointers and row strides, in bytes; 0: any */
  uint32_t registers;        /* per thread */
  uint32_t shared_bytes;     /* per block */
  uint32_t spill_bytes;      /* per thread: its stack frame, 0 in a good kernel */
  const void *code;          /* the cubin */
  size_t code_size;
} lampar_kernel_info;

#define LAMPAR_KERNEL_INFO_INIT                                                                    \
  {                                                                                                \
    sizeof(lampar_kernel_info), NULL, NULL, NULL, 0, LAMPAR_BF16, NULL, LAMPAR_ROUNDING_UNFUSED,   \
        NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, 0                                 \
  }

/* Opens, maps and checks a pack file. The caller closes the pack after destroying the last group
 * that uses it. Any thread. Errors: ARGUMENT, SYSTEM (the file cannot be read), PACK, VERSION. */
LAMPAR_API lampar_status lampar_pack_open(const char *path, lampar_pack **pack);

/* Like lampar_pack_open, for bytes in memory. `name` is used in messages only. `data` is aligned to
 * 16 bytes, stays the caller's, and must not change until the pack is closed. */
LAMPAR_API lampar_status lampar_pack_open_memory(const void *data, size_t size, const char *name,
                                                 lampar_pack **pack);

/* Closes a pack that no group uses any more. NULL is allowed. */
LAMPAR_API void lampar_pack_close(lampar_pack *pack);

/* Number of kernels in the pack. Any thread. */
LAMPAR_API size_t lampar_pack_count(const lampar_pack *pack);

/* Describes the kernel `index`, 0 .. count-1; kernels are sorted by arch, world, dtype, epilogue,
 * rounding, hidden and limit. Any thread. Errors: ARGUMENT. */
LAMPAR_API lampar_status lampar_pack_info(const lampar_pack *pack, size_t index,
                                          lampar_kernel_info *info);

/* The spec's name, and the digest of the file as 32 hexadecimal digits. Owned by the pack. Any
 * thread. */
LAMPAR_API const char *lampar_pack_name(const lampar_pack *pack);
LAMPAR_API const char *lampar_pack_digest(const lampar_pack *pack);

/* ---- groups ------------------------------------------------------------------------------ */

/* How the ranks of a group exchange a few hundred bytes while it is set up: by default over the
 * NCCL communicator. Engines with another channel (a CPU group), and programs with several ranks on
 * one GPU, which NCCL does not support, provide their own. Start from LAMPAR_EXCHANGE_INIT. */
typedef struct lampar_exchange {
  size_t size; /* sizeof(lampar_exchange) of the caller */
  int rank;    /* 0 .. world-1 */
  int world;   /* ranks */
  /* Collective: stores the `bytes` of every rank's `mine` in `all`, in rank order. Returns 0 on
   * success. */
  int (*all_gather)(void *user, const void *mine, void *all, size_t bytes);
  void *user;
} lampar_exchange;

#define LAMPAR_EXCHANGE_INIT                                                                       \
  { sizeof(lampar_exchange), 0, 0, NULL, NULL }

/* An exchange between threads of this process, one thread per rank. */
typedef struct lampar_local_exchange lampar_local_exchange;

/* If a rank does not arrive within `timeout_ms`, the all_gather of all ranks fails. The caller
 * destroys it, after the last group that uses it. Any thread. Errors: ARGUMENT, SYSTEM. */
LAMPAR_API lampar_status lampar_local_exchange_create(int world, uint32_t timeout_ms,
                                                      lampar_local_exchange **local);

/* The exchange of one rank, owned by `local`; NULL for a rank outside 0 .. world-1. Any thread. */
LAMPAR_API const lampar_exchange *lampar_local_exchange_rank(lampar_local_exchange *local,
                                                             int rank);

/* NULL is allowed. */
LAMPAR_API void lampar_local_exchange_destroy(lampar_local_exchange *local);

/* What a group is used for. */
typedef enum lampar_role {
  LAMPAR_ROLE_DENSE = 0,
  LAMPAR_ROLE_ATTENTION = 1,
  LAMPAR_ROLE_MOE = 2,
} lampar_role;

typedef enum lampar_log_level {
  LAMPAR_LOG_NONE = 0,
  LAMPAR_LOG_WARN = 1,
  LAMPAR_LOG_INFO = 2,
  LAMPAR_LOG_TRACE = 3,
} lampar_log_level;

/* Receives one line without a line end, of any level. */
typedef void (*lampar_log_function)(void *user, lampar_log_level level, const char *line);

/* Start from LAMPAR_GROUP_CONFIG_INIT. Everything but log, exchange and setup_timeout_ms must be
 * equal on all ranks. */
typedef struct lampar_group_config {
  size_t size;      /* sizeof(lampar_group_config) of the caller */
  int enable;       /* opt in: with 0, the default, every call goes to NCCL */
  lampar_role role; /* groups of different roles are separate, with their own statistics */
  int contains_expert_parallelism; /* 1: every call goes to NCCL */
  uint32_t max_rows;               /* maximum rows per call; 0: as many as the packs take */
  uint64_t workspace_limit; /* bytes of device memory per rank; 0: as many as the packs need */
  uint32_t lanes;           /* independent workspaces, for calls that may overlap; 0: 1 */
  int strict;               /* 1: a call that no kernel takes fails instead of going to NCCL */
  int programmatic_launch;  /* 1: a kernel may start before the previous one on the stream has
                               ended. Every kernel on the stream that is launched this way must wait
                               (griddepcontrol.wait) before it reads what earlier kernels wrote. */
  uint32_t watchdog_ms; /* timeout of a wait for other ranks; may only shorten the pack's; 0: the
                           pack's */
  uint32_t setup_timeout_ms; /* timeout of each wait over the communicator for other ranks while
                                the group is created or destroyed; 0: two minutes */
  const char *kernels; /* a glob: only kernels whose name matches are used, to compare kernels, as
                          NCCL_ALGO does for NCCL. Copied. NULL: LAMPAR_KERNEL, else all */
  const lampar_exchange *exchange; /* copied; `user` must outlive the group. NULL: over the
                                      communicator */
  lampar_log_function log;         /* NULL: lines of LAMPAR_DEBUG's level go to standard error */
  void *log_user;
} lampar_group_config;

#define LAMPAR_GROUP_CONFIG_INIT                                                                   \
  {                                                                                                \
    sizeof(lampar_group_config), 0, LAMPAR_ROLE_DENSE, 0, 0, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL,   \
        NULL                                                                                       \
  }

/* One rank's part of a set of ranks that reduce together. */
typedef struct lampar_group lampar_group;

/* Creates this rank's part of a group on the calling thread's current CUDA context. If the kernels
 * cannot be used, it still succeeds: then every call of all ranks goes to NCCL, and
 * lampar_group_report says why. A second creation for the same ranks, with the same role and an
 * equal config, returns the same group and counts the reference; with another role it creates
 * another group, with its own workspace; with another config it fails.
 *
 * `comm` stays the caller's and must outlive the group. It may be NULL if config->exchange is set;
 * then there is nothing to fall back to. The packs stay the caller's and must outlive the group.
 *
 * Collective and blocking; one thread per rank. A rank that fails makes the creation fail on all
 * ranks, with its message. Over the communicator, a rank without a driver, without pinned host
 * memory or with a device in a sticky error cannot send its message; the others then return TIMEOUT
 * after setup_timeout_ms. Call it before graph capture: it synchronises, allocates and loads every
 * kernel. Errors: ARGUMENT, SYSTEM, DRIVER, NCCL, TIMEOUT, CAPTURE (a stream of this thread is
 * being captured). */
LAMPAR_API lampar_status lampar_group_create(lampar_group **group, struct ncclComm *comm,
                                             lampar_pack *const *packs, size_t pack_count,
                                             const lampar_group_config *config);

/* Releases a reference; the last release waits for the group's work and frees the workspace. NULL
 * is allowed. Collective, over the exchange or the communicator of the group's first creation,
 * which no other thread may use at the same time. No graph that holds calls of the group may be
 * launched afterwards. Errors: DRIVER (everything is freed all the same). */
LAMPAR_API lampar_status lampar_group_destroy(lampar_group *group);

/* An operand of a call's epilogue; call.operand_size is the stride of the array. Every operand that
 * the epilogue declares must be given, in any order, with the declared dtype: operands are never
 * reinterpreted.
 *
 * Which memory may be the same, in every kernel and behind NCCL:
 *   call.output, or an output per element   call.input, or an input per element, with the same
 *                                           address, stride and element size: output = input,
 *                                           residual_out = residual, residual_out = input
 *   rows of two tensors that alternate      the columns of one larger tensor, with one stride
 *   two inputs                              anything
 * Every other overlap with an output is refused with ARGUMENT. Only outputs per group, whose extent
 * depends on the stage, are not checked. */
typedef struct lampar_operand {
  const char *name;
  void *data;      /* device memory, aligned to its element; NULL for LAMPAR_GRANULARITY_CALL */
  uint64_t stride; /* elements from one row to the next (per group: see the stage); 0: no gaps */
  lampar_dtype dtype;
  float value; /* for LAMPAR_GRANULARITY_CALL */
} lampar_operand;

/* One all-reduce of `rows` x `hidden` elements; a plain buffer is one row. Start from
 * LAMPAR_CALL_INIT. Kernels of packs built with alignment = 16 need addresses and strides that are
 * multiples of 16 bytes. */
typedef struct lampar_call {
  size_t size;       /* sizeof(lampar_call) of the caller */
  const void *input; /* device memory, aligned to its element */
  void *output;      /* device memory; what it may share is listed at lampar_operand. Unused, and
                        may be NULL, if the epilogue stores its result in an operand */
  uint64_t rows;     /* equal on all ranks; 0: the call does nothing */
  uint64_t hidden;   /* elements per row; equal on all ranks */
  uint64_t
      input_stride; /* elements from one row to the next; 0: hidden. May differ between ranks */
  uint64_t output_stride; /* the same for output */
  lampar_dtype dtype;
  lampar_op op;
  uint32_t lane;                  /* 0 .. config.lanes-1 */
  lampar_rounding rounding;       /* of the epilogue */
  const char *epilogue;           /* as the pack names it; NULL or "": none */
  const lampar_operand *operands; /* of the epilogue */
  uint32_t operand_count;
  size_t operand_size; /* sizeof(lampar_operand) of the caller: the stride of `operands` */
} lampar_call;

#define LAMPAR_CALL_INIT                                                                           \
  {                                                                                                \
    sizeof(lampar_call), NULL, NULL, 1, 0, 0, 0, LAMPAR_BF16, LAMPAR_SUM, 0,                       \
        LAMPAR_ROUNDING_UNFUSED, NULL, NULL, 0, sizeof(lampar_operand)                             \
  }

/* Enqueues output = sum of input over all ranks, accumulated in fp32 in rank order and rounded
 * once. Returns OK whether a kernel or NCCL runs it. The call and its operands are copied.
 *
 * Collective: all ranks make the same calls in the same order. One thread at a time per group.
 * Ranks of one process that share a GPU share its launch queue: a rank that is some hundred calls
 * ahead fills it, and keeps the others' kernels from being launched.
 *
 * Capturable. A call on another stream than the previous one is ordered after it; the previous
 * stream must still exist.
 * Errors: ARGUMENT, NO_KERNEL, CAPTURE (two streams of one capture use one lane), TIMEOUT (a rank
 * was missing in an earlier call: destroy the group), DRIVER, NCCL. */
LAMPAR_API lampar_status lampar_all_reduce(lampar_group *group, const lampar_call *call,
                                           struct CUstream_st *stream);

/* What happens to a call. Start from LAMPAR_ANSWER_INIT. */
typedef struct lampar_answer {
  size_t size; /* sizeof(lampar_answer) of the caller */
  lampar_path path;
  const char *kernel;   /* name, owned by the pack; NULL for NCCL */
  lampar_reason reason; /* NONE for a kernel */
  const char *message;  /* owned by the group, valid until its next call */
} lampar_answer;

#define LAMPAR_ANSWER_INIT                                                                         \
  { sizeof(lampar_answer), LAMPAR_PATH_KERNEL, NULL, LAMPAR_REASON_NONE, NULL }

/* Predicts what lampar_all_reduce does with this call: an engine's should_use(). The answer is the
 * same on every rank; pointers and strides are not looked at. One thread at a time per group, not
 * collective. Enqueues nothing. Errors: ARGUMENT. */
LAMPAR_API lampar_status lampar_query(lampar_group *group, const lampar_call *call,
                                      lampar_answer *answer);

/* A line about the group: role, ranks, kernels and workspace, or why it uses NCCL. Owned by the
 * group. Any thread. */
LAMPAR_API const char *lampar_group_report(const lampar_group *group);

/* Number of ranks, this rank, and bytes of device memory that the group holds on it. Any thread. */
LAMPAR_API int lampar_group_world(const lampar_group *group);
LAMPAR_API int lampar_group_rank(const lampar_group *group);
LAMPAR_API uint64_t lampar_group_workspace_bytes(const lampar_group *group);

/* Record written by a kernel whose wait for other ranks timed out. Start from LAMPAR_FAULT_INIT. */
typedef struct lampar_fault {
  size_t size;      /* sizeof(lampar_fault) of the caller */
  int rank;         /* the rank that waited */
  int source;       /* the lowest rank whose data is missing */
  uint32_t missing; /* all such ranks: bit r is rank r */
  uint32_t mailbox;
  uint32_t epoch;     /* number of earlier uses of the mailbox */
  const char *kernel; /* name, owned by the pack */
} lampar_fault;

#define LAMPAR_FAULT_INIT                                                                          \
  { sizeof(lampar_fault), 0, 0, 0, 0, 0, NULL }

/* Returns OK if no wait of this rank has timed out. Otherwise returns TIMEOUT and fills `fault`,
 * which may be NULL; lampar_last_error names the missing rank. Any thread. Enqueues nothing.
 * Errors: TIMEOUT, ARGUMENT. */
LAMPAR_API lampar_status lampar_group_error(lampar_group *group, lampar_fault *fault);

/* Counters since the group's creation. Start from LAMPAR_STATS_INIT. */
typedef struct lampar_stats {
  size_t size; /* sizeof(lampar_stats) of the caller */
  uint64_t
      kernel_calls; /* calls that a kernel runs, enqueued or captured; not replays of a graph */
  uint64_t kernel_bytes;
  uint64_t nccl_calls[LAMPAR_REASONS_MAX]; /* by lampar_reason */
  uint64_t nccl_bytes;
} lampar_stats;

#define LAMPAR_STATS_INIT                                                                          \
  { sizeof(lampar_stats), 0, 0, {0}, 0 }

/* Reads the counters. Any thread. Errors: ARGUMENT. */
LAMPAR_API lampar_status lampar_group_stats(const lampar_group *group, lampar_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
