#include "base/error.h"

lampar_status lampar_set_error(lampar_status status, const char *message) {
  return lampar_fail(status, "%s", message != NULL ? message : "");
}
