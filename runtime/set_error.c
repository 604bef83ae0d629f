#include "error.h"

lampar_status lampar_set_error(lampar_status status, const char *sentence) {
  return lampar_fail(status, "%s", sentence != NULL ? sentence : "");
}
