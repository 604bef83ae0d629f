/* The text of a template: from a folder, or carried inside. */
#ifndef LAMPAR_TEMPLATE_TEXT_H
#define LAMPAR_TEMPLATE_TEXT_H

#include <stdbool.h>

#include "files.h"

/* `folder` is NULL for the templates carried inside; `name` is a path below it, "parts/row.cuh.in".
 */
bool lampar_template_exists(const char *folder, const char *name);

/* The caller frees `text`. `read`, unless it is NULL, gets the file of a folder. Errors: SYSTEM,
 * ARGUMENT (larger than any template). */
lampar_status lampar_template_read(const char *folder, const char *name, char **text, size_t *size,
                                   lampar_files *read);

#endif
