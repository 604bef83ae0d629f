#include "verify/looping_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/pack_read.h"

lampar_status lampar_looping_pack_open(const lampar_pack *pack, void **bytes,
                                       lampar_pack **persistent) {
  char *copy = malloc(pack->size);
  if (copy == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for a copy of the pack");
  memcpy(copy, pack->data, pack->size);
  lampar_pack_header *header = (lampar_pack_header *)copy;
  lampar_pack_record *records = (lampar_pack_record *)(copy + sizeof *header);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < header->record_count; ++i)
    if (records[i].persistent) records[kept++] = records[i];
  header->record_count = kept; /* the code of the others stays, unused */
  memset(header->digest, 0, sizeof header->digest);
  lampar_digest(copy, pack->size, header->digest);
  const lampar_status status =
      lampar_pack_open_memory(copy, pack->size, "the persistent kernels", persistent);
  if (status != LAMPAR_OK) {
    free(copy);
    return status;
  }
  *bytes = copy;
  return LAMPAR_OK;
}
