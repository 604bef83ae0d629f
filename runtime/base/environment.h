/* The LAMPAR_* variables: one table, read in one place. A field of a config overrides its variable.
 */
#ifndef LAMPAR_ENVIRONMENT_H
#define LAMPAR_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum lampar_variable {
  LAMPAR_VARIABLE_CACHE_DIR,
  LAMPAR_VARIABLE_DEBUG,
  LAMPAR_VARIABLE_DEBUG_FILE,
  LAMPAR_VARIABLE_DEVICE,
  LAMPAR_VARIABLE_DISABLE,
  LAMPAR_VARIABLE_DISABLE_JIT,
  LAMPAR_VARIABLE_EMU_DEVICES,
  LAMPAR_VARIABLE_EMU_GRACE_MS,
  LAMPAR_VARIABLE_EMU_LIBRARY,
  LAMPAR_VARIABLE_EMU_P2P,
  LAMPAR_VARIABLE_EMU_SEED,
  LAMPAR_VARIABLE_KERNEL,
  LAMPAR_VARIABLE_NCCL_LIBRARY,
  LAMPAR_VARIABLE_NVRTC_LIBRARY,
  LAMPAR_VARIABLE_STRICT,
  LAMPAR_VARIABLE_TEMPLATES,
  LAMPAR_VARIABLE_COUNT,
};

const char *lampar_variable_name(enum lampar_variable variable);
const char *lampar_variable_meaning(enum lampar_variable variable);

/* NULL if it is unset or empty. */
const char *lampar_variable_text(enum lampar_variable variable);

/* Set, but empty. */
bool lampar_variable_is_empty(enum lampar_variable variable);

/* Set, and not "0". */
bool lampar_variable_is_set(enum lampar_variable variable);

#endif
