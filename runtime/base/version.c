#include "lampar/lampar.h"

#define TEXT(number)     #number
#define EXPANDED(number) TEXT(number)

const char *lampar_version(void) {
  return EXPANDED(LAMPAR_VERSION_MAJOR) "." EXPANDED(LAMPAR_VERSION_MINOR) "." EXPANDED(
      LAMPAR_VERSION_PATCH);
}
