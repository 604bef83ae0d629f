/* lampar: one-shot Lamport all-reduce kernels, generated for exact shapes, with NCCL behind them.
 *
 * Every declaration says, in this order: what it does; who owns what; which thread calls it and
 * whether it is collective; what it means for streams and graph capture; which errors it returns.
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

/* Values are stable within a minor version; new ones are appended. */
typedef enum lampar_status {
  LAMPAR_OK = 0,
  LAMPAR_ERROR_ARGUMENT = 1,   /* the caller's mistake: a value, a size, an order of calls */
  LAMPAR_ERROR_SYSTEM = 2,     /* memory, files, threads */
  LAMPAR_ERROR_PACK = 3,       /* a pack that is damaged or is not a pack */
  LAMPAR_ERROR_VERSION = 4,    /* a pack of a format that this library does not read */
  LAMPAR_ERROR_DRIVER = 5,     /* no CUDA driver, or it returned an error */
  LAMPAR_ERROR_NCCL = 6,       /* no NCCL, or it returned an error */
  LAMPAR_ERROR_NO_KERNEL = 7,  /* strict, or no NCCL to fall back to: a call that no kernel takes */
  LAMPAR_ERROR_CAPTURE = 8,    /* not allowed while a stream is being captured */
  LAMPAR_ERROR_TIMEOUT = 9,    /* a rank did not arrive in time */
  LAMPAR_ERROR_CANCELLED = 10, /* the caller's own function asked to stop */
  LAMPAR_ERROR_MISMATCH = 11,  /* a result differs from the one that was computed on the host */
} lampar_status;

/* Element types, with NCCL's names. Kernels exist for the first three; all others go to NCCL. */
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
  LAMPAR_F4E2M1X2 = 12, /* two e2m1 in a byte, the first in its low half; operands only */
} lampar_dtype;

/* Where a fused kernel rounds to the dtype. Part of a kernel's identity. */
typedef enum lampar_rounding {
  LAMPAR_ROUNDING_UNFUSED = 0, /* after every stage, just as separate kernels would */
  LAMPAR_ROUNDING_FP32 = 1,    /* only where something is stored */
} lampar_rounding;

/* What an operand of an epilogue holds, for `rows` rows of `hidden` elements. */
typedef enum lampar_granularity {
  LAMPAR_GRANULARITY_ELEMENT = 0, /* rows x hidden; rows may lie apart */
  LAMPAR_GRANULARITY_COLUMN = 1,  /* hidden, shared by all rows */
  LAMPAR_GRANULARITY_ROW = 2,     /* rows */
  LAMPAR_GRANULARITY_TENSOR = 3,  /* one number in device memory */
  LAMPAR_GRANULARITY_GROUP =
      4, /* a number for each group of a row's elements; the stage says how they lie */
  LAMPAR_GRANULARITY_CALL = 5, /* one fp32 number, given by value */
} lampar_granularity;

/* Reductions. Kernels exist for the sum. */
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

/* Why a call, or a whole group, goes to NCCL. A closed list; lampar_reason_string gives a message.
 */
typedef enum lampar_reason {
  LAMPAR_REASON_NONE = 0,               /* it does not: a kernel takes it */
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
  LAMPAR_REASON_HIDDEN = 14,            /* no kernel for the row length, and no flat one either */
  LAMPAR_REASON_ROWS = 15,              /* more rows than the pack's kernels take */
  LAMPAR_REASON_BYTES = 16,             /* more bytes than the workspace holds */
  LAMPAR_REASON_SETUP_FAILED = 17,      /* set-up failed on some rank; the report names it */
} lampar_reason;

/* Constant text; never NULL, also for values that are not of the enum. Any thread. */
LAMPAR_API const char *lampar_status_string(lampar_status status);
LAMPAR_API const char *lampar_reason_string(lampar_reason reason);

/* The message behind the calling thread's most recent status other than LAMPAR_OK: what failed, on
 * which file or rank, what to do. Valid until the thread's next call into the library. */
LAMPAR_API const char *lampar_last_error(void);

/* Makes the message that lampar_last_error returns on the calling thread, and returns `status`.
 * For libraries on top of this one, so that there is one place to ask. The text is copied. */
LAMPAR_API lampar_status lampar_set_error(lampar_status status, const char *message);

/* "major.minor.patch" of the library that is loaded. */
LAMPAR_API const char *lampar_version(void);

/* ---- packs ------------------------------------------------------------------------------- */

/* A file of kernels, checked and mapped. Immutable: any number of groups and threads may share it.
 */
typedef struct lampar_pack lampar_pack;

/* An operand that an epilogue declares. */
typedef struct lampar_operand_info {
  char name[24];        /* unique within the epilogue: "residual", "weight", "eps" */
  uint32_t dtype;       /* lampar_dtype */
  uint32_t granularity; /* lampar_granularity */
  uint32_t output;      /* 1: the kernel stores it */
  uint32_t group;       /* elements of a group; 0 unless per group */
} lampar_operand_info;

typedef struct lampar_kernel_info {
  const char *name;      /* also the kernel's symbol; owned by the pack */
  const char *arch;      /* "sm_90" */
  const char *algorithm; /* "oneshot", "twoshot"; "epilogue_only": world 1, only the epilogue */
  int world;             /* ranks */
  lampar_dtype dtype;
  const char *epilogue; /* "residual+rmsnorm"; "": none. Owned by the pack, as the operands are */
  lampar_rounding rounding;
  const lampar_operand_info *operands;
  uint32_t operand_count;
  uint32_t hidden;           /* elements of a row; 0: a flat kernel, for any number of elements */
  uint32_t max_rows;         /* most rows of a call; 0 for a flat kernel */
  uint64_t max_bytes;        /* most bytes of a call */
  int persistent;            /* a warp may serve several mailboxes one after the other */
  uint32_t threads;          /* of a block */
  uint32_t cluster;          /* blocks that share a row */
  uint32_t vectors_per_warp; /* warp-wide vectors of a row that one warp serves */
  uint32_t registers;        /* of a thread */
  uint32_t shared_bytes;     /* of a block */
  uint32_t spill_bytes;      /* of a thread: its stack frame, 0 in a good kernel */
  uint32_t watchdog_ms;      /* bound of a wait; 0: none */
  const void *code;          /* the cubin; owned by the pack */
  size_t code_size;
} lampar_kernel_info;

/* Opens and checks a pack. The caller closes it after the last group that uses it is destroyed.
 * Errors: SYSTEM (the file cannot be read), PACK, VERSION. */
LAMPAR_API lampar_status lampar_pack_open(const char *path, lampar_pack **pack);

/* The same for bytes in memory, which must stay as they are until the pack is closed. `name` is
 * used in messages only. `data` must be aligned to 16 bytes. */
LAMPAR_API lampar_status lampar_pack_open_memory(const void *data, size_t size, const char *name,
                                                 lampar_pack **pack);

/* The same for bytes of malloc, which from now on, also after an error, are the library's: closing
 * the pack frees them. */
LAMPAR_API lampar_status lampar_pack_open_owned(void *data, size_t size, const char *name,
                                                lampar_pack **pack);
LAMPAR_API void lampar_pack_close(lampar_pack *pack);

/* Kernels of a pack, sorted by key. `index` is 0 .. count-1. Errors: ARGUMENT. */
LAMPAR_API size_t lampar_pack_count(const lampar_pack *pack);
LAMPAR_API lampar_status lampar_pack_info(const lampar_pack *pack, size_t index,
                                          lampar_kernel_info *info);
/* Name of the spec, and the digest of the whole file as 32 hexadecimal digits; owned by the pack.
 */
LAMPAR_API const char *lampar_pack_name(const lampar_pack *pack);
LAMPAR_API const char *lampar_pack_digest(const lampar_pack *pack);

/* ---- groups ------------------------------------------------------------------------------ */

/* How the ranks of a group exchange a few hundred bytes while it is set up. By default over the
 * NCCL communicator; engines with another way (a CPU group) and programs with several ranks on one
 * GPU, which NCCL does not support, provide their own. Start from LAMPAR_EXCHANGE_INIT. */
typedef struct lampar_exchange {
  size_t size; /* sizeof(lampar_exchange) of the caller */
  int rank;    /* 0 .. world-1 */
  int world;   /* ranks */
  /* Collective: gives every rank the `bytes` of all ranks, in rank order. Returns 0 for success. */
  int (*all_gather)(void *user, const void *mine, void *all, size_t bytes);
  void *user;
} lampar_exchange;

#define LAMPAR_EXCHANGE_INIT                                                                       \
  { sizeof(lampar_exchange), 0, 0, NULL, NULL }

/* An exchange between threads of this process, one thread a rank. A rank that does not arrive
 * within `timeout_ms` makes the others' all_gather fail. Errors: ARGUMENT, SYSTEM. */
typedef struct lampar_local_exchange lampar_local_exchange;
LAMPAR_API lampar_status lampar_local_exchange_create(int world, uint32_t timeout_ms,
                                                      lampar_local_exchange **local);

/* That of one rank, owned by `local`; NULL for a rank outside 0 .. world-1. */
LAMPAR_API const lampar_exchange *lampar_local_exchange_rank(lampar_local_exchange *local,
                                                             int rank);
LAMPAR_API void lampar_local_exchange_destroy(lampar_local_exchange *local);

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

typedef void (*lampar_log_function)(void *user, lampar_log_level level, const char *line);

/* Start from LAMPAR_GROUP_CONFIG_INIT. Everything but log, exchange and setup_timeout_ms must be
 * equal on all ranks. */
typedef struct lampar_group_config {
  size_t size;                     /* sizeof(lampar_group_config) of the caller */
  int enable;                      /* opt in: 0 (the default) leaves every call to NCCL */
  lampar_role role;                /* each role has a group of its own, for its statistics */
  int contains_expert_parallelism; /* 1: every call goes to NCCL */
  uint32_t max_rows;               /* most rows that calls will have; 0: what the packs take */
  uint64_t workspace_limit;        /* bytes of device memory of each rank; 0: what the packs need */
  uint32_t lanes;          /* independent workspaces, for calls that may overlap; 0 means 1 */
  int strict;              /* 1: a call that no kernel takes is an error instead of a fallback */
  int programmatic_launch; /* 1: kernels may start before the one before them on the stream ends.
                              Every kernel on the stream that is launched that way must wait
                              (griddepcontrol.wait) before it reads what earlier ones wrote. */
  uint32_t watchdog_ms;    /* bound of a wait for other ranks; 0: the pack's. May only shorten it */
  uint32_t setup_timeout_ms; /* over the communicator, bound of each wait for other ranks while the
                                group is created or destroyed; 0: two minutes */
  const lampar_exchange *exchange; /* copied; its user data must outlive the group. NULL: over the
                                      communicator */
  lampar_log_function log;         /* NULL: standard error, as LAMPAR_DEBUG says */
  void *log_user;
} lampar_group_config;

#define LAMPAR_GROUP_CONFIG_INIT                                                                   \
  { sizeof(lampar_group_config), 0, LAMPAR_ROLE_DENSE, 0, 0, 0, 1, 0, 0, 0, 0, NULL, NULL, NULL }

/* One rank of a set of ranks that reduce together. */
typedef struct lampar_group lampar_group;

/* Creates this rank's part of a group on the calling thread's current CUDA context. Takes the
 * caller's NCCL communicator (it stays the caller's; it must outlive the group), or NULL with
 * config->exchange set, in which case there is nothing to fall back to. Succeeds also when the
 * kernels cannot be used: then all calls of all ranks go to NCCL, and lampar_group_report says why.
 * A second creation for the same ranks, with the same role and an equal config, returns the same
 * group and counts the reference; with another role it makes another group, with its own workspace;
 * with another config it fails. A rank that cannot go on fails the creation on all ranks, with its
 * message. Over the communicator a rank cannot send its message when it has no driver, no pinned
 * host memory or a device in a sticky error; the others then return TIMEOUT after setup_timeout_ms.
 * Packs stay the caller's and must outlive the group. Collective, blocking; one thread a rank. Must
 * come before graph capture: it synchronises, allocates and loads every kernel.
 * Errors: ARGUMENT, SYSTEM, DRIVER, NCCL, CAPTURE (some stream of this thread is being captured).
 */
LAMPAR_API lampar_status lampar_group_create(lampar_group **group, struct ncclComm *comm,
                                             lampar_pack *const *packs, size_t pack_count,
                                             const lampar_group_config *config);

/* Gives the group back; the last one frees the workspace. Collective; waits for the group's work.
 * No graph that holds calls of the group may be launched afterwards. NULL is allowed.
 * Errors: DRIVER (reported, everything is freed all the same). */
LAMPAR_API lampar_status lampar_group_destroy(lampar_group *group);

/* An operand of a call's epilogue, an element of an array whose stride is call.operand_size. All
 * that the epilogue declares must be given, in any order, each with the dtype that it declares: an
 * operand is never reinterpreted. */
typedef struct lampar_operand {
  const char *name;
  void *data;      /* device memory, aligned to its element; NULL for one per call */
  uint64_t stride; /* elements from a row to the next (per group: see the stage); 0: no gaps */
  lampar_dtype dtype;
  float value; /* of an operand per call */
} lampar_operand;

/* One all-reduce. `rows` x `hidden` elements; a plain buffer is one row. Start from
 * LAMPAR_CALL_INIT. */
typedef struct lampar_call {
  size_t size;           /* sizeof(lampar_call) of the caller */
  const void *input;     /* device memory, aligned to its element; may be equal to output */
  void *output;          /* device memory; otherwise it must not overlap input. Not used, and may be
                            NULL, when the epilogue stores its result in an operand */
  uint64_t rows;         /* equal on all ranks; 0 is a call that does nothing */
  uint64_t hidden;       /* elements; equal on all ranks */
  uint64_t input_stride; /* elements from a row to the next; 0: hidden. May differ by rank */
  uint64_t output_stride; /* the same for output */
  lampar_dtype dtype;
  lampar_op op;
  uint32_t lane;                  /* 0 .. config.lanes-1 */
  lampar_rounding rounding;       /* of the epilogue */
  const char *epilogue;           /* as a pack names it; NULL or "": none */
  const lampar_operand *operands; /* of the epilogue */
  uint32_t operand_count;
  size_t operand_size; /* sizeof(lampar_operand) of the caller: the stride of `operands` */
} lampar_call;

#define LAMPAR_CALL_INIT                                                                           \
  {                                                                                                \
    sizeof(lampar_call), NULL, NULL, 1, 0, 0, 0, LAMPAR_BF16, LAMPAR_SUM, 0,                       \
        LAMPAR_ROUNDING_UNFUSED, NULL, NULL, 0, sizeof(lampar_operand)                             \
  }

/* Enqueues output = sum over ranks of input, rounded once from an fp32 sum in rank order. Returns
 * OK whichever path was taken. Collective: all ranks make the same calls in the same order. One
 * thread at a time for a group. Ranks of one process that share a GPU share its launch queue: a
 * rank that fills it, with some hundred calls ahead of the others, keeps theirs from being
 * launched. Capturable. Calls on another stream than the call before are ordered behind it; that
 * earlier stream must still exist. Errors: ARGUMENT, NO_KERNEL, CAPTURE (two streams of one
 * capture), TIMEOUT (an earlier call found a rank missing: the group is over, destroy it), DRIVER,
 * NCCL. */
LAMPAR_API lampar_status lampar_all_reduce(lampar_group *group, const lampar_call *call,
                                           struct CUstream_st *stream);

typedef struct lampar_answer {
  size_t size; /* sizeof(lampar_answer) of the caller */
  lampar_path path;
  const char *kernel;   /* name; NULL for NCCL. Owned by the pack */
  lampar_reason reason; /* NONE for a kernel */
  const char *message;  /* owned by the group, until its next call */
} lampar_answer;

#define LAMPAR_ANSWER_INIT                                                                         \
  { sizeof(lampar_answer), LAMPAR_PATH_KERNEL, NULL, LAMPAR_REASON_NONE, NULL }

/* What lampar_all_reduce would do with exactly this call, without doing it; an engine's
 * should_use(). The same answer on every rank. Pointers and strides of the call are not looked at.
 * Not collective. Errors: ARGUMENT. */
LAMPAR_API lampar_status lampar_query(lampar_group *group, const lampar_call *call,
                                      lampar_answer *answer);

/* A few lines about the group: ranks, devices, kernels, workspace, or why it is on NCCL. Owned by
 * the group. */
LAMPAR_API const char *lampar_group_report(const lampar_group *group);

/* Ranks of the group, this one, and bytes of device memory that the group holds on this rank. */
LAMPAR_API int lampar_group_world(const lampar_group *group);
LAMPAR_API int lampar_group_rank(const lampar_group *group);
LAMPAR_API uint64_t lampar_group_workspace_bytes(const lampar_group *group);

/* What a kernel wrote down when its wait for other ranks came to its bound. */
typedef struct lampar_fault {
  size_t size;      /* sizeof(lampar_fault) of the caller */
  int rank;         /* the rank that waited */
  int source;       /* the lowest rank it had nothing from */
  uint32_t missing; /* all of them: bit r is rank r */
  uint32_t mailbox;
  uint32_t epoch;     /* how often that mailbox had been used before */
  const char *kernel; /* owned by the pack */
} lampar_fault;

#define LAMPAR_FAULT_INIT                                                                          \
  { sizeof(lampar_fault), 0, 0, 0, 0, 0, NULL }

/* OK: no wait of this rank has come to its bound. TIMEOUT: one has, `fault` (may be NULL) is filled
 * and lampar_last_error names the rank that is missing. Any thread; does not touch a stream. */
LAMPAR_API lampar_status lampar_group_error(lampar_group *group, lampar_fault *fault);

typedef struct lampar_stats {
  size_t size;
  uint64_t
      kernel_calls; /* calls enqueued or captured; replays of a graph do not pass through here */
  uint64_t kernel_bytes;
  uint64_t nccl_calls[32]; /* by lampar_reason */
  uint64_t nccl_bytes;
} lampar_stats;

#define LAMPAR_STATS_INIT                                                                          \
  { sizeof(lampar_stats), 0, 0, {0}, 0 }

/* Counters since creation. Any thread. Errors: ARGUMENT. */
LAMPAR_API lampar_status lampar_group_stats(const lampar_group *group, lampar_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
