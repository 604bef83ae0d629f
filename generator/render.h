/* One variant and the templates give the complete source text of its kernel. */
#ifndef LAMPAR_RENDER_H
#define LAMPAR_RENDER_H

#include <stdbool.h>

#include "files.h"
#include "variant.h"

typedef struct lampar_render_options {
  bool line_directives; /* compiler messages then point at the templates */
} lampar_render_options;

/* `templates` is the folder with oneshot.cu.in and parts/. The same variant and templates give the
 * same bytes, wherever the folder is. The caller frees `source`. `read` gets the files that were
 * used, also after an error. Errors: ARGUMENT (the sentence starts with the template and, where
 * there is one, the line), SYSTEM. */
lampar_status lampar_render(const char *templates, const lampar_variant *variant,
                            const lampar_render_options *options, char **source,
                            lampar_files *read);

#endif
