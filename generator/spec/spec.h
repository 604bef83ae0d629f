/* A spec file, run and checked. */
#ifndef LAMPAR_SPEC_H
#define LAMPAR_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack/variant.h"
#include "spec/files.h"

enum {
  LAMPAR_SPEC_ARCHS = 16,
  LAMPAR_SPEC_DTYPES = 16,
};

typedef struct lampar_width {
  uint32_t elements;
  char *model; /* the model that has this width; NULL: given as a number */
} lampar_width;

/* A list of stages. The stage files define the stages and their options; the plan checks them. */
typedef struct lampar_spec_epilogue {
  char *text;  /* "residual+rmsnorm.weight=f32", options in order of their names; "": plain */
  char *where; /* "x.lua:7: epilogue[2]", for messages */
} lampar_spec_epilogue;

/* Plain data, owned by the struct. Lists are in the order of the file, without duplicates; but two
 * models may have the same width. */
typedef struct lampar_spec {
  char name[LAMPAR_PACK_NAME_BYTES];
  uint32_t archs[LAMPAR_SPEC_ARCHS];
  size_t arch_count;
  uint32_t worlds[LAMPAR_WORLD_MAX];
  size_t world_count;
  uint32_t dtypes[LAMPAR_SPEC_DTYPES];
  size_t dtype_count;
  lampar_width *widths; /* of row kernels; none: flat kernels only */
  size_t width_count;
  uint32_t rows;  /* most rows of a row kernel's call */
  uint64_t bytes; /* largest flat message; 0: rows x largest width x element size */
  lampar_spec_epilogue *epilogues; /* at least one */
  size_t epilogue_count;
  uint32_t rounding;   /* lampar_rounding of all epilogues */
  char *weight_dtype;  /* default of the stages' weight options; NULL: each stage's own */
  char *stages;        /* folder of the spec's own stages, next to the spec; NULL: none */
  char *stages_folder; /* the path under which it is opened */
  bool needs_nvlink;
  uint32_t trigger;     /* enum lampar_trigger */
  uint32_t watchdog_ms; /* timeout of a wait; 0: none */
  uint32_t alignment;   /* bytes that all pointers and row strides are multiples of; 0: any */
  char **defaults;      /* "rows = 128": fields that the file omits, in their order */
  size_t default_count;
} lampar_spec;

/* Runs the file in the sandbox. `read`, unless it is NULL, gets the file and those it requires,
 * even after an error. On an error `spec` is empty. Errors: ARGUMENT (the message starts with the
 * file and, where there is one, the line), SYSTEM. */
lampar_status lampar_spec_read(const char *path, lampar_spec *spec, lampar_files *read);

/* The same for a text, which messages call `name`; it has no folder to require files from. */
lampar_status lampar_spec_read_text(const char *name, const char *text, lampar_spec *spec);

/* Leaves an empty spec. */
void lampar_spec_free(lampar_spec *spec);

#endif
