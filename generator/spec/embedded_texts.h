/* Files that are carried inside as text: generator/lua/, because bytecode depends on the Lua that
 * made it, and templates/, so that a process needs no files of lampar's to make kernels. */
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

/* NULL: there is none. */
const lampar_embedded_text *lampar_embedded_find(const lampar_embedded_text *texts,
                                                 const char *name);

#endif
