#include "base/sized.h"

#include <string.h>

#include "base/error.h"

static lampar_status check(const void *given, size_t *size, const char *what) {
  if (given == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s is NULL", what);
  memcpy(size, given, sizeof *size);
  if (*size < sizeof *size)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: its size is not set: start from the _INIT macro",
                       what);
  return LAMPAR_OK;
}

lampar_status lampar_sized_read(void *to, size_t size, const void *from, const char *what) {
  size_t given = 0;
  LAMPAR_TRY(check(from, &given, what));
  for (size_t i = size; i < given; ++i)
    if (((const char *)from)[i] != 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "%s uses fields that lampar %s does not have: update the library", what,
                         lampar_version());
  memcpy(to, from, given < size ? given : size);
  memcpy(to, &size, sizeof size);
  return LAMPAR_OK;
}

lampar_status lampar_sized_write(void *to, const void *from, size_t size, const char *what) {
  size_t given = 0;
  LAMPAR_TRY(check(to, &given, what));
  memcpy((char *)to + sizeof given, (const char *)from + sizeof given,
         (given < size ? given : size) - sizeof given);
  return LAMPAR_OK;
}
