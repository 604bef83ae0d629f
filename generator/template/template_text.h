/* The text of a template: from a folder, or carried inside. */
#ifndef LAMPAR_TEMPLATE_TEXT_H
#define LAMPAR_TEMPLATE_TEXT_H

#include <stdbool.h>

#include "spec/files.h"

/* `folder` is NULL for the templates carried inside; `name` is a path below it, "parts/row.cuh.in".
 */
bool lampar_template_exists(const char *folder, const char *name);

/* The caller frees `text`. `read`, unless it is NULL, gets the file of a folder. Errors: SYSTEM,
 * ARGUMENT (larger than any template). */
lampar_status lampar_template_read(const char *folder, const char *name, char **text, size_t *size,
                                   lampar_files *read);

/* Adds the names NAME of the files NAME.cu.in that lie in `under` ("epilogues"; NULL: in the folder
 * itself). A folder that is not there has none. Errors: SYSTEM. */
lampar_status lampar_template_names(const char *folder, const char *under, lampar_files *names);

#endif
