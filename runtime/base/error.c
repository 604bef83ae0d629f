#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[LAMPAR_FAILURE_BYTES];

lampar_status(lampar_fail)(lampar_status status, const char *format, ...) {
  /* The arguments may point into the old message, so the new one is written to another buffer. */
  char text[sizeof message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(message, sizeof message, "%s", text);
  return status;
}

const char *lampar_last_error(void) {
  return message;
}

void lampar_failure_save(lampar_failure *failure, lampar_status status) {
  memset(failure, 0, sizeof *failure); /* all bytes are sent */
  failure->status = (int32_t)status;
  if (status != LAMPAR_OK)
    snprintf(failure->message, sizeof failure->message, "%.*s", (int)sizeof failure->message - 1,
             message);
}

lampar_status lampar_failure_raise(const lampar_failure *failure) {
  if (failure->status == LAMPAR_OK) return LAMPAR_OK;
  return lampar_fail((lampar_status)failure->status, "%.*s", (int)sizeof failure->message,
                     failure->message);
}

const char *lampar_status_string(lampar_status status) {
  switch (status) {
  case LAMPAR_OK: return "success";
  case LAMPAR_ERROR_ARGUMENT: return "invalid argument";
  case LAMPAR_ERROR_SYSTEM: return "system error";
  case LAMPAR_ERROR_PACK: return "damaged pack";
  case LAMPAR_ERROR_VERSION: return "pack of another format";
  case LAMPAR_ERROR_DRIVER: return "CUDA driver error";
  case LAMPAR_ERROR_NCCL: return "NCCL error";
  case LAMPAR_ERROR_NO_KERNEL: return "no kernel for the call";
  case LAMPAR_ERROR_CAPTURE: return "not allowed during graph capture";
  case LAMPAR_ERROR_TIMEOUT: return "a rank did not arrive";
  case LAMPAR_ERROR_CANCELLED: return "stopped by the caller";
  case LAMPAR_ERROR_MISMATCH: return "wrong result";
  }
  return "unknown status";
}
