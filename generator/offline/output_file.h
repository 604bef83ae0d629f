/* Output files, which are complete or absent. */
#ifndef LAMPAR_OUTPUT_FILE_H
#define LAMPAR_OUTPUT_FILE_H

#include <stddef.h>

#include "base/error.h"

/* Writes the file `path`: under a temporary name, then synced and renamed. A file that has these
 * bytes already keeps its time stamp, so that nothing that depends on it is rebuilt. Errors: SYSTEM
 * (names the file); an old file is then unchanged. */
lampar_status lampar_output_file_write(const char *path, const void *bytes, size_t size);

/* Creates the folder `path` and those above it, if they are missing. Errors: SYSTEM. */
lampar_status lampar_output_folder_make(const char *path);

#endif
