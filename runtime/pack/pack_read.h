/* An open pack: checked once, with its kernels described in memory. */
#ifndef LAMPAR_PACK_READ_H
#define LAMPAR_PACK_READ_H

#include <stdbool.h>

#include "base/digest.h"
#include "pack/pack_format.h"

typedef struct lampar_pack_kernel {
  lampar_variant variant;
  const lampar_operand_info *operands[LAMPAR_OPERANDS_MAX]; /* those of the variant */
  const lampar_pack_record *record;                         /* name and facts of the code */
  const void *code;
} lampar_pack_kernel;

struct lampar_pack {
  const uint8_t *data;
  size_t size;
  bool is_mapped, is_owned; /* or neither: the caller's memory */
  const lampar_pack_header *header;
  lampar_pack_kernel *kernels; /* header->record_count of them */
  char digest[LAMPAR_DIGEST_HEX];
};

#endif
