#include "pack/pack_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "pack/arch.h"
#include "pack/cubin.h"
#include "pack/pack_format.h"

static size_t aligned(size_t offset) {
  return (offset + LAMPAR_PACK_ALIGNMENT - 1) / LAMPAR_PACK_ALIGNMENT * LAMPAR_PACK_ALIGNMENT;
}

static size_t code_start(const lampar_plan *plan) {
  return sizeof(lampar_pack_header) + plan->variant_count * sizeof(lampar_pack_record);
}

static size_t pack_size(const lampar_plan *plan, const lampar_cubin *cubins) {
  size_t size = code_start(plan);
  for (size_t i = 0; i < plan->variant_count; ++i) size = aligned(size) + cubins[i].size;
  return size;
}

static lampar_status make_record(const lampar_variant *variant, const lampar_cubin *cubin,
                                 size_t offset, lampar_pack_record *record) {
  lampar_cubin_facts facts;
  lampar_pack_record_from_variant(record, variant);
  lampar_variant_name(variant, record->name);
  LAMPAR_TRY(lampar_cubin_read(cubin->bytes, cubin->size, record->name, cubin->file, &facts));
  if (facts.is_emulated != (variant->arch == LAMPAR_ARCH_EMU))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: is not of arch %s; compile its source again",
                       cubin->file, lampar_arch_name(variant->arch));
  record->code_offset = offset;
  record->code_bytes = cubin->size;
  record->registers = facts.registers;
  record->shared_bytes = facts.shared_bytes;
  record->spill_bytes = facts.stack_bytes;
  return LAMPAR_OK;
}

lampar_status lampar_pack_write(const lampar_plan *plan, const lampar_cubin *cubins,
                                uint8_t **bytes, size_t *size) {
  *size = pack_size(plan, cubins);
  *bytes = calloc(1, *size); /* zeros between the parts */
  if (*bytes == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "pack %s: out of memory for its %zu bytes", plan->name,
                       *size);

  lampar_pack_header *const header = (lampar_pack_header *)*bytes;
  lampar_pack_record *const records = (lampar_pack_record *)(*bytes + sizeof *header);
  *header = (lampar_pack_header){
      .format = LAMPAR_PACK_FORMAT,
      .header_bytes = sizeof *header,
      .record_bytes = sizeof *records,
      .record_count = (uint32_t)plan->variant_count,
      .file_bytes = *size,
      .needs_nvlink = plan->needs_nvlink,
  };
  memcpy(header->magic, LAMPAR_PACK_MAGIC, sizeof header->magic);
  snprintf(header->name, sizeof header->name, "%s", plan->name);
  snprintf(header->version, sizeof header->version, "%s", lampar_version());

  size_t offset = code_start(plan);
  for (size_t i = 0; i < plan->variant_count; ++i) {
    offset = aligned(offset);
    const lampar_status status = make_record(&plan->variants[i], &cubins[i], offset, &records[i]);
    if (status != LAMPAR_OK) {
      free(*bytes);
      *bytes = NULL;
      return status;
    }
    memcpy(*bytes + offset, cubins[i].bytes, cubins[i].size);
    offset += cubins[i].size;
  }
  lampar_digest(*bytes, *size, header->digest);
  return LAMPAR_OK;
}
