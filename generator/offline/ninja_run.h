/* Runs Ninja on the build.ninja of a folder. */
#ifndef LAMPAR_NINJA_RUN_H
#define LAMPAR_NINJA_RUN_H

#include "base/error.h"

/* `jobs` is the number of parallel steps; 0: Ninja's own choice. Waits for the end. Ninja's
 * progress, one redrawn line on a terminal, goes to standard error. Errors: SYSTEM (no ninja; or a
 * failed step, whose output was printed). */
lampar_status lampar_ninja_run(const char *folder, unsigned jobs);

#endif
