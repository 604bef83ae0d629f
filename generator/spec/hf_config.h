/* A spec from the config.json of a Hugging Face model. The rules are in lua/hf_config.lua. */
#ifndef LAMPAR_HF_CONFIG_H
#define LAMPAR_HF_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "pack/variant.h"

enum { LAMPAR_HF_ARCHS_MAX = 16 };

/* Values that the config lacks, or which of its several values to use. */
typedef struct lampar_hf_request {
  const char *name;  /* of the pack; NULL: the model_type */
  const char *dtype; /* "bf16"; NULL: the config's */
  uint32_t hidden;   /* one of the config's hidden sizes; 0: its only one */
  uint32_t archs[LAMPAR_HF_ARCHS_MAX];
  size_t arch_count;
  uint32_t worlds[LAMPAR_WORLD_MAX];
  size_t world_count;
} lampar_hf_request;

/* Makes the text of a spec. `remarks` gets one line for each assumption; it may be empty. The
 * caller frees both. Errors: ARGUMENT (not JSON, or an ambiguous config; lists the candidates),
 * SYSTEM. */
lampar_status lampar_hf_config_spec(const char *path, const lampar_hf_request *request, char **spec,
                                    char **remarks);

#endif
