/* A pack as the runtime sees it: checked once when it is opened, read in place from then on. */
#ifndef LAMPAR_PACK_READ_H
#define LAMPAR_PACK_READ_H

#include <stdbool.h>

#include "base/digest.h"
#include "pack/pack_format.h"

struct lampar_pack {
  const uint8_t *data;
  size_t size;
  bool is_mapped, is_owned; /* or neither: the caller's memory */
  const lampar_pack_header *header;
  const lampar_pack_record *records;
  char digest[LAMPAR_DIGEST_HEX];
};

#endif
