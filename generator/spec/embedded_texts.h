/* Files that are embedded as text: generator/lua/ (text, because bytecode depends on the Lua
 * version) and templates/, so that a process can build kernels without files of lampar. */
#ifndef LAMPAR_EMBEDDED_TEXTS_H
#define LAMPAR_EMBEDDED_TEXTS_H

#include <stddef.h>

typedef struct lampar_embedded_text {
  const char *name; /* path below the folder: "prelude.lua", "parts/row.cuh.in" */
  const char *text;
  size_t size;
} lampar_embedded_text;

/* Each ends with a NULL name. */
extern const lampar_embedded_text lampar_embedded_lua[];
extern const lampar_embedded_text lampar_embedded_templates[];

/* NULL if there is none. */
const lampar_embedded_text *lampar_embedded_find(const lampar_embedded_text *texts,
                                                 const char *name);

#endif
