/* Statuses with a message. liblampar-jit uses these functions too, from liblampar, so that a thread
 * has one message whichever library has failed. */
#ifndef LAMPAR_ERROR_H
#define LAMPAR_ERROR_H

#include "lampar/lampar.h"

/* Sets the message that lampar_last_error returns on this thread, and returns `status`. */
LAMPAR_API lampar_status lampar_fail(lampar_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#ifdef __clang_analyzer__ /* which does not see that it returns what it is given */
#define lampar_fail(status, ...) ((lampar_fail)(status, __VA_ARGS__), (status))
#endif

/* A status with its message, to be kept or sent: the thread's own message lasts only until its next
 * failure. Ranks exchange it as it is. */
enum { LAMPAR_FAILURE_BYTES = 1024 };
typedef struct lampar_failure {
  int32_t status; /* lampar_status; LAMPAR_OK: nothing failed, and the message is empty */
  char message[LAMPAR_FAILURE_BYTES - sizeof(int32_t)];
} lampar_failure;

/* Keeps `status` with the calling thread's message; LAMPAR_OK clears the failure. */
LAMPAR_API void lampar_failure_save(lampar_failure *failure, lampar_status status);

/* Makes the failure the calling thread's last error, and returns its status. */
LAMPAR_API lampar_status lampar_failure_raise(const lampar_failure *failure);

/* Returns from the function if `expression` is not LAMPAR_OK. */
#define LAMPAR_TRY(expression)                                                                     \
  do {                                                                                             \
    lampar_status lampar_try_status = (expression);                                                \
    if (lampar_try_status != LAMPAR_OK) return lampar_try_status;                                  \
  } while (0)

/* The same in a function that has something to free: sets its variable `status`, and goes to its
 * one block of cleanup, `out`. */
#define LAMPAR_TRY_OUT(expression)                                                                 \
  do {                                                                                             \
    status = (expression);                                                                         \
    if (status != LAMPAR_OK) goto out;                                                             \
  } while (0)

#endif
