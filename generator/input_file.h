/* A whole file in memory. */
#ifndef LAMPAR_INPUT_FILE_H
#define LAMPAR_INPUT_FILE_H

#include <stddef.h>

#include "error.h"

/* Reads the file `path`. `*bytes` is the caller's to free; a zero that `*size` does not count follows the
 * last byte. Errors: SYSTEM (names the file), and then `*bytes` is NULL. */
lampar_status lampar_input_file_read(const char *path, char **bytes, size_t *size);

#endif
