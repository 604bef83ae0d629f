/* Statuses with a message. */
#ifndef LAMPAR_ERROR_H
#define LAMPAR_ERROR_H

#include "lampar/lampar.h"

/* Makes the message that lampar_last_error returns on this thread, and returns `status`. */
__attribute__((format(printf, 2, 3))) lampar_status lampar_fail(lampar_status status,
                                                                const char *format, ...);

/* Returns at once when `expression` is not LAMPAR_OK. */
#define LAMPAR_TRY(expression)                                                                     \
  do {                                                                                             \
    lampar_status lampar_try_status = (expression);                                                \
    if (lampar_try_status != LAMPAR_OK) return lampar_try_status;                                  \
  } while (0)

#endif
