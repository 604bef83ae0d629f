/* A folder with those above it. */
#ifndef LAMPAR_FOLDERS_H
#define LAMPAR_FOLDERS_H

#include <sys/types.h>

/* Creates the missing ones with `mode`, as `mkdir -p` does. 0, or the errno of what failed:
 * ENOTDIR when `path` or a part of it is a file. */
int lampar_folders_make(const char *path, mode_t mode);

#endif
