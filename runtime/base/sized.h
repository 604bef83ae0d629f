/* Structs of the public header start with their size, so that callers built against another version
 * of it still fit. */
#ifndef LAMPAR_SIZED_H
#define LAMPAR_SIZED_H

#include <stddef.h>

#include "lampar/lampar.h"

/* Copies a caller's struct over `to`, which holds the defaults. Fields that the caller's version
 * lacks keep them; fields that this version lacks must be zero. Errors: ARGUMENT, naming `what`. */
lampar_status lampar_sized_read(void *to, size_t size, const void *from, const char *what);

/* Copies as much as the caller's struct has room for; its size stays. */
lampar_status lampar_sized_write(void *to, const void *from, size_t size, const char *what);

#endif
