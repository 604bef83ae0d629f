#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"

static const char *const level_names[] = {"none", "warn", "info", "trace"};
_Static_assert(sizeof level_names / sizeof level_names[0] == LAMPAR_LOG_TRACE + 1,
               "every level has a name");

/* %h and %p of LAMPAR_DEBUG_FILE, so that the ranks of a node do not share a file. */
static void expand_path(const char *pattern, char *path, size_t size) {
  size_t used = 0;
  for (const char *p = pattern; *p != '\0' && used + 1 < size; ++p) {
    if (p[0] == '%' && p[1] == 'h') {
      gethostname(path + used, size - used);
      path[size - 1] = '\0';
      used += strlen(path + used);
      ++p;
    } else if (p[0] == '%' && p[1] == 'p') {
      const int length = snprintf(path + used, size - used, "%ld", (long)getpid());
      used += (size_t)length < size - used ? (size_t)length : size - used - 1;
      ++p;
    } else {
      path[used++] = *p;
    }
  }
  path[used] = '\0';
}

void lampar_logger_open(lampar_logger *logger, lampar_log_function function, void *user, int rank) {
  *logger = (lampar_logger){.function = function, .user = user, .file = stderr, .rank = rank};
  const char *level = lampar_variable_text(LAMPAR_VARIABLE_DEBUG);
  if (level != NULL) {
    int found = -1;
    for (int i = 0; i <= LAMPAR_LOG_TRACE; ++i)
      if (strcmp(level, level_names[i]) == 0) found = i;
    logger->level = found >= 0 ? (lampar_log_level)found : LAMPAR_LOG_WARN;
    if (found < 0)
      lampar_log(logger, LAMPAR_LOG_WARN,
                 "LAMPAR_DEBUG=%s is not a level (none, warn, info, trace): warn is taken", level);
  }
  const char *pattern = lampar_variable_text(LAMPAR_VARIABLE_DEBUG_FILE);
  if (pattern == NULL) return;
  char path[1024];
  expand_path(pattern, path, sizeof path);
  FILE *file = fopen(path, "a");
  if (file != NULL) logger->file = file;
  else
    lampar_log(logger, LAMPAR_LOG_WARN, "LAMPAR_DEBUG_FILE: %s cannot be written: %s", path,
               strerror(errno));
}

void lampar_logger_close(lampar_logger *logger) {
  if (logger->file != NULL && logger->file != stderr) fclose(logger->file);
  logger->file = NULL;
}

void lampar_log(const lampar_logger *logger, lampar_log_level level, const char *format, ...) {
  if (logger->function == NULL && level > logger->level) return;
  char line[1200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (logger->function != NULL) logger->function(logger->user, level, line);
  else {
    fprintf(logger->file, "lampar %s rank %d: %s\n", level_names[level], logger->rank, line);
    fflush(logger->file);
  }
}
