/* Suggestions for mistyped names. */
#ifndef LAMPAR_NEAREST_H
#define LAMPAR_NEAREST_H

#include <stddef.h>

/* The name with the smallest edit distance, the first among equals; NULL when there are no names.
 */
const char *lampar_nearest(const char *typed, const char *const *names, size_t count);

#endif
