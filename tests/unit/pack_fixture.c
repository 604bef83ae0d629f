#include "pack_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

enum { CODE_BYTES = 100 };

void pack_fixture_seal(uint8_t *bytes, size_t size) {
  uint8_t *digest = bytes + offsetof(lampar_pack_header, digest);
  memset(digest, 0, LAMPAR_DIGEST_BYTES);
  lampar_digest(bytes, size, digest);
}

uint8_t *pack_fixture(const lampar_variant *variants, size_t count, size_t *size) {
  const size_t records = sizeof(lampar_pack_header), stride = 2 * LAMPAR_PACK_ALIGNMENT;
  const size_t code = (records + count * sizeof(lampar_pack_record) + stride - 1) / stride * stride;
  *size = code + count * stride;
  uint8_t *bytes = aligned_alloc(64, *size);
  memset(bytes, 0, *size);
  lampar_pack_header *header = (lampar_pack_header *)bytes;
  *header = (lampar_pack_header){.format = LAMPAR_PACK_FORMAT,
                                 .header_bytes = sizeof *header,
                                 .record_bytes = sizeof(lampar_pack_record),
                                 .record_count = (uint32_t)count,
                                 .file_bytes = *size,
                                 .needs_nvlink = 1,
                                 .name = "fixture",
                                 .version = "0"};
  memcpy(header->magic, LAMPAR_PACK_MAGIC, sizeof header->magic);
  for (size_t i = 0; i < count; ++i) {
    lampar_pack_record *record = (lampar_pack_record *)(bytes + records) + i;
    lampar_pack_record_from_variant(record, &variants[i]);
    lampar_variant_name(&variants[i], record->name);
    record->code_offset = code + i * stride;
    record->code_bytes = CODE_BYTES;
    record->registers = 40;
    memset(bytes + record->code_offset, 'c', CODE_BYTES);
  }
  pack_fixture_seal(bytes, *size);
  return bytes;
}
