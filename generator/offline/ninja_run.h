/* Runs Ninja on the build.ninja of a folder. */
#ifndef LAMPAR_NINJA_RUN_H
#define LAMPAR_NINJA_RUN_H

#include "base/error.h"

/* `jobs` is the number of steps at a time; 0: Ninja's own choice. Waits for the end. Ninja's
 * progress, which is one redrawn line on a terminal, goes to standard error. Errors: SYSTEM (no
 * ninja; or a step failed, and what it printed says why). */
lampar_status lampar_ninja_run(const char *folder, unsigned jobs);

#endif
