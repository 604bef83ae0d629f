/* The bytes of a pack: header, records sorted by key, cubins. Little endian, fixed sizes. Every
 * change here needs another LAMPAR_PACK_FORMAT. */
#ifndef LAMPAR_PACK_FORMAT_H
#define LAMPAR_PACK_FORMAT_H

#include <stdint.h>

#include "pack/variant.h"

#define LAMPAR_PACK_MAGIC "LAMPARPK"
enum { LAMPAR_PACK_FORMAT = 2, LAMPAR_PACK_ALIGNMENT = 64, LAMPAR_PACK_RECORDS_MAX = 4096 };

typedef struct lampar_pack_header {
  char magic[8];
  uint32_t format;
  uint32_t header_bytes;
  uint32_t record_bytes;
  uint32_t record_count;
  uint64_t file_bytes;
  uint8_t digest[16];    /* XXH3-128 of the whole file, these 16 bytes being zeros */
  uint32_t needs_nvlink; /* topology.link = "nvlink" */
  uint32_t reserved;
  char name[64];    /* of the spec */
  char version[32]; /* of the lampar that wrote it */
} lampar_pack_header;

typedef struct lampar_pack_operand {
  char name[24];
  uint32_t dtype;
  uint32_t granularity;
  uint32_t output;
  uint32_t group;
} lampar_pack_operand;

typedef struct lampar_pack_record {
  uint64_t code_offset; /* from the start of the file; aligned to LAMPAR_PACK_ALIGNMENT */
  uint64_t code_bytes;
  uint32_t registers;
  uint32_t shared_bytes;
  uint32_t spill_bytes;
  char name[192]; /* made from the fields below */

  /* The variant, field by field. */
  uint32_t arch;
  uint32_t algorithm;
  uint32_t world;
  uint64_t max_bytes;
  uint32_t dtype;
  uint32_t rounding;
  uint32_t hidden;
  uint32_t max_rows;
  uint32_t persistent;
  uint32_t threads;
  uint32_t cluster;
  uint32_t vectors_per_warp;
  uint32_t trigger;
  uint32_t watchdog_ms;
  uint32_t alignment;
  uint32_t operand_count;
  char epilogue[96];
  lampar_pack_operand operands[12];
} lampar_pack_record;

_Static_assert(sizeof((lampar_pack_header){0}.name) == LAMPAR_PACK_NAME_BYTES,
               "the header holds the name of a pack");
_Static_assert(sizeof(lampar_pack_header) == 152, "the header is part of the format");
_Static_assert(sizeof(lampar_pack_record) == 864, "the record is part of the format");

/* Copies every field between the file's struct and the one in memory. Checks nothing: texts may
 * lack their 0. */
void lampar_pack_record_from_variant(lampar_pack_record *record, const lampar_variant *variant);
void lampar_pack_record_to_variant(const lampar_pack_record *record, lampar_variant *variant);

#endif
