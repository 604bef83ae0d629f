/* Writes one line at a time to the caller's function, LAMPAR_DEBUG_FILE or standard error. */
#ifndef LAMPAR_LOG_H
#define LAMPAR_LOG_H

#include <stdio.h>

#include "lampar/lampar.h"

typedef struct lampar_logger {
  lampar_log_level level; /* from LAMPAR_DEBUG; a caller's function gets every level */
  lampar_log_function function;
  void *user;
  FILE *file;
  int rank;
} lampar_logger;

/* `function` may be NULL. An invalid LAMPAR_DEBUG is reported once, as a warning. */
void lampar_logger_open(lampar_logger *logger, lampar_log_function function, void *user, int rank);
void lampar_logger_close(lampar_logger *logger);

__attribute__((format(printf, 3, 4))) void
lampar_log(const lampar_logger *logger, lampar_log_level level, const char *format, ...);

#endif
