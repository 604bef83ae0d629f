/* One variant and the templates give the complete source text of its kernel. */
#ifndef LAMPAR_RENDER_H
#define LAMPAR_RENDER_H

#include <stdbool.h>

#include "pack/variant.h"
#include "spec/files.h"
#include "template/stages.h"

typedef struct lampar_render_options {
  bool line_directives; /* compiler messages then point at the templates */
} lampar_render_options;

/* Reads and compiles each template once, for any number of variants; one thread at a time. */
typedef struct lampar_renderer lampar_renderer;

/* `templates` is the folder with oneshot.cu.in and parts/; NULL: those carried inside. `own`,
 * unless it is NULL, is the spec's own folder of stages. The caller closes it. Errors: SYSTEM. */
lampar_status lampar_renderer_open(const char *templates, const lampar_own_stages *own,
                                   lampar_renderer **renderer);
void lampar_renderer_close(lampar_renderer *renderer);

/* The same variant and templates give the same bytes, wherever the folder is and whatever was
 * rendered before. The caller frees `source`. `read`, unless it is NULL, gets the files that were
 * read, also after an error. Errors: ARGUMENT (the message starts with the template and, where
 * there is one, the line), SYSTEM. */
lampar_status lampar_renderer_run(lampar_renderer *renderer, const lampar_variant *variant,
                                  const lampar_render_options *options, char **source,
                                  lampar_files *read);

/* The same for one variant: all files that it uses are read. */
lampar_status lampar_render(const char *templates, const lampar_own_stages *own,
                            const lampar_variant *variant, const lampar_render_options *options,
                            char **source, lampar_files *read);

#endif
