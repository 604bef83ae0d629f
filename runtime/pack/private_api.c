#include "pack/private_api.h"

#include <stdlib.h>

#include "base/error.h"
#include "pack/pack_read.h"

lampar_status lampar_pack_open_owned(void *data, size_t size, const char *name,
                                     lampar_pack **pack) {
  const lampar_status status = lampar_pack_open_memory(data, size, name, pack);
  if (status == LAMPAR_OK) (*pack)->is_owned = true;
  else free(data);
  return status;
}
