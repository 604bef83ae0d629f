/* Where the templates are. */
#ifndef LAMPAR_TEMPLATE_FOLDER_H
#define LAMPAR_TEMPLATE_FOLDER_H

#include <limits.h>

#include "base/error.h"

/* The first that is given: `chosen` (--templates; may be NULL), LAMPAR_TEMPLATES,
 * ../share/lampar/templates from the executable, the source tree that this was built from. The path
 * is absolute. Errors: ARGUMENT (a chosen folder has no templates), SYSTEM (none is found). */
lampar_status lampar_template_folder(const char *chosen, char folder[PATH_MAX]);

#endif
