/* Public structs start with their size, so that callers built against another version of the header
 * still work. */
#ifndef LAMPAR_SIZED_H
#define LAMPAR_SIZED_H

#include <stddef.h>

#include "lampar/lampar.h"

/* Copies a caller's struct over `to`, which holds the defaults. Fields that the caller's version
 * lacks keep their defaults; fields that this version lacks must be zero. Errors: ARGUMENT, naming
 * `what`. */
lampar_status lampar_sized_read(void *to, size_t size, const void *from, const char *what);

/* Copies as much as the caller's struct has room for, and keeps its size field. */
lampar_status lampar_sized_write(void *to, const void *from, size_t size, const char *what);

#endif
