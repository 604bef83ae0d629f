/* lampar_jit: the kernels of a spec made at start-up, in memory. Link liblampar-jit beside
 * liblampar.
 *
 * Only lampar_jit_build and lampar_jit_build_text compile; no other call of either library ever
 * does. Messages behind errors come from lampar_last_error, as always. */
#ifndef LAMPAR_JIT_H
#define LAMPAR_JIT_H

#include "lampar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Told after each kernel that was compiled: `done` of the `total` that had to be on this rank. On
 * the thread that builds. Anything but 0 stops: kernels under way are finished, and kept in the
 * cache. */
typedef int (*lampar_jit_progress)(void *user, uint32_t done, uint32_t total, const char *name);

/* Where the kernels of a build came from. Start from LAMPAR_JIT_STATS_INIT. */
typedef struct lampar_jit_stats {
  size_t size;          /* sizeof(lampar_jit_stats) of the caller */
  uint32_t kernels;     /* of the pack: the sum of the next three */
  uint32_t cached;      /* were in a folder of the cache */
  uint32_t compiled;    /* were compiled on this rank */
  uint32_t received;    /* came from another rank */
  uint64_t nanoseconds; /* from call to return */
} lampar_jit_stats;

#define LAMPAR_JIT_STATS_INIT                                                                      \
  { sizeof(lampar_jit_stats), 0, 0, 0, 0, 0 }

/* Start from LAMPAR_JIT_OPTIONS_INIT. Only world and templates must be equal on ranks that build
 * together. */
typedef struct lampar_jit_options {
  size_t size;      /* sizeof(lampar_jit_options) of the caller */
  int world;        /* only the kernels for that many ranks; 0: all of the spec */
  uint32_t threads; /* that compile; 0: one for each core, shared among ranks that build together */
  /* Folders of the cache that are only read, in the order they are looked into; those of an image,
   * for instance. */
  const char *const *read_folders;
  size_t read_folder_count;
  /* The one that is written, and read last. NULL: LAMPAR_CACHE_DIR, else lampar in
   * XDG_CACHE_HOME, else CACHE_DIRECTORY, else .cache/lampar in HOME, else none; "": none. A folder
   * that another user owns or others may write to is not used. Whatever is wrong with a folder or
   * with a file in it is a line in the log and never an error. */
  const char *write_folder;
  const char *templates; /* folder; NULL: LAMPAR_TEMPLATES, else those inside the library */
  lampar_jit_progress progress;
  void *progress_user;
  /* The ranks that build together, if any: every kernel is compiled on one of them and given to
   * the others. At most one of the two. */
  const lampar_exchange *exchange; /* needed during the call only */
  struct ncclComm *comm;           /* the same over NCCL, on the thread's current CUDA context */
  lampar_log_function log; /* NULL: standard error, as LAMPAR_DEBUG says. One call at a time, on
                              any thread */
  void *log_user;
  lampar_jit_stats *stats; /* filled when the build succeeds; may be NULL */
} lampar_jit_options;

#define LAMPAR_JIT_OPTIONS_INIT                                                                    \
  {                                                                                                \
    sizeof(lampar_jit_options), 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,     \
        NULL                                                                                       \
  }

/* Makes the kernels that the spec file `spec` has for `arch` ("sm_90"), or for the device of the
 * calling thread's current CUDA context when `arch` is NULL: from the cache, else compiled with
 * NVRTC. The pack is an ordinary one, with the same bytes as one built offline, and owns what it
 * needs; the caller closes it. `options` may be NULL. Strings and folders are needed during the
 * call only. Any thread, several at a time; collective when ranks build together, and then a
 * failure of one is the failure of all. Not while a stream is being captured.
 *
 * Without NVRTC, or with LAMPAR_DISABLE_JIT, it takes from the cache what any build of NVRTC made.
 *
 * Errors: ARGUMENT (the spec, with file and line; arch, options, templates; ranks that disagree),
 * SYSTEM (memory, a missing NVRTC, a rank that did not arrive), CANCELLED (stopped by `progress`),
 * NO_KERNEL (LAMPAR_DISABLE_JIT, and a kernel is in no folder: names it), DRIVER, NCCL, TIMEOUT. */
LAMPAR_API lampar_status lampar_jit_build(const char *spec, const char *arch,
                                          const lampar_jit_options *options, lampar_pack **pack);

/* The same for a spec given as text, which messages call `name`. It cannot require other files. */
LAMPAR_API lampar_status lampar_jit_build_text(const char *text, const char *name, const char *arch,
                                               const lampar_jit_options *options,
                                               lampar_pack **pack);

#ifdef __cplusplus
}
#endif
#endif
