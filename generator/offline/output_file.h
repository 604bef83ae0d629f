/* Files that are there whole or not at all. */
#ifndef LAMPAR_OUTPUT_FILE_H
#define LAMPAR_OUTPUT_FILE_H

#include <stddef.h>

#include "base/error.h"

/* Makes `path` a file of these bytes: written beside it, synced, renamed. A file that has them
 * already keeps its time stamp, so that nothing made from it is made again. Errors: SYSTEM (names
 * the file); the old file is then as it was. */
lampar_status lampar_output_file_write(const char *path, const void *bytes, size_t size);

/* Makes the folder `path` and those above it, as far as they are missing. Errors: SYSTEM. */
lampar_status lampar_output_folder_make(const char *path);

#endif
