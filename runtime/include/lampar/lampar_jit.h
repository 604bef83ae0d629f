/* lampar_jit: compiles the kernels of a spec at start-up, in memory. Link liblampar-jit in addition
 * to liblampar.
 *
 * Only lampar_jit_build and lampar_jit_build_text compile; no other function of the two libraries
 * does. lampar_last_error has the messages of errors. */
#ifndef LAMPAR_JIT_H
#define LAMPAR_JIT_H

#include "lampar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called after each compiled kernel, on the thread that called lampar_jit_build; `done` of the
 * `total` this rank has to compile. A return value other than 0 cancels the build: kernels that are
 * being compiled are finished and kept in the cache. */
typedef int (*lampar_jit_progress)(void *user, uint32_t done, uint32_t total, const char *name);

/* Where the kernels of a build came from. Start from LAMPAR_JIT_STATS_INIT. */
typedef struct lampar_jit_stats {
  size_t size;          /* sizeof(lampar_jit_stats) of the caller */
  uint32_t kernels;     /* of the pack: the sum of the next three */
  uint32_t cached;      /* found in a folder of the cache */
  uint32_t compiled;    /* compiled on this rank */
  uint32_t received;    /* received from another rank */
  uint64_t nanoseconds; /* from call to return */
} lampar_jit_stats;

#define LAMPAR_JIT_STATS_INIT                                                                      \
  { sizeof(lampar_jit_stats), 0, 0, 0, 0, 0 }

/* Start from LAMPAR_JIT_OPTIONS_INIT. On ranks that build together, world and templates must be
 * equal. */
typedef struct lampar_jit_options {
  size_t size;      /* sizeof(lampar_jit_options) of the caller */
  int world;        /* only kernels for this many ranks; 0: all of the spec */
  uint32_t threads; /* that compile; 0: one per core, divided among ranks that build together */
  /* Read-only folders of the cache, searched in this order; for example those of a container
   * image. */
  const char *const *read_folders;
  size_t read_folder_count;
  /* The folder that is written, and searched last. NULL: LAMPAR_CACHE_DIR, else lampar in
   * XDG_CACHE_HOME, else CACHE_DIRECTORY, else .cache/lampar in HOME, else none; "": none. A folder
   * that belongs to another user, or that others may write to, is not used. A problem with a folder
   * or with a file in it is logged and never an error. */
  const char *write_folder;
  const char *templates; /* folder; NULL: LAMPAR_TEMPLATES, else those built into the library */
  lampar_jit_progress progress;
  void *progress_user;
  /* Ranks that build together: each kernel is compiled on one of them and sent to the others. At
   * most one of the two; both NULL: this process builds alone. */
  const lampar_exchange *exchange; /* needed during the call only */
  struct ncclComm *comm;           /* the same over NCCL, in the context of the communicator */
  lampar_log_function log; /* NULL: lines of LAMPAR_DEBUG's level go to standard error. Called on
                              any thread, one call at a time */
  void *log_user;
  lampar_jit_stats *stats; /* filled if the build succeeds; may be NULL */
} lampar_jit_options;

#define LAMPAR_JIT_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(lampar_jit_options), 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL                                                                                       \
  }

/* Builds the kernels of the spec file `spec` for `arch` ("sm_90"), or, if `arch` is NULL, for the
 * device of the calling thread's current CUDA context. Kernels come from the cache, or are compiled
 * with NVRTC. Without NVRTC, or with LAMPAR_DISABLE_JIT, the cache is searched for kernels of any
 * NVRTC.
 *
 * The pack has the same bytes as one built offline and owns its memory; the caller closes it.
 * `options` may be NULL; what it points to is needed during the call only.
 *
 * Any thread, several at a time. Collective if ranks build together; then a failure of one rank is
 * the failure of all. Not while a stream is being captured.
 * Errors: ARGUMENT (the spec, with file and line; arch, options, templates; ranks that disagree),
 * SYSTEM (memory, a missing NVRTC, a rank that did not arrive), CANCELLED (by `progress`),
 * NO_KERNEL (LAMPAR_DISABLE_JIT, and a kernel is in no folder), DRIVER, NCCL, TIMEOUT. */
LAMPAR_API lampar_status lampar_jit_build(const char *spec, const char *arch,
                                          const lampar_jit_options *options, lampar_pack **pack);

/* Like lampar_jit_build, for the text of a spec, which messages call `name`. It cannot require
 * other files. */
LAMPAR_API lampar_status lampar_jit_build_text(const char *text, const char *name, const char *arch,
                                               const lampar_jit_options *options,
                                               lampar_pack **pack);

#ifdef __cplusplus
}
#endif
#endif
