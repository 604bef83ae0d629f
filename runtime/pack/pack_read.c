#include "pack/pack_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "pack/arch.h"
#include "pack/enum_names.h"

static bool is_terminated(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

static lampar_status check_header(const uint8_t *data, size_t size, const char *name) {
  const lampar_pack_header *header = (const lampar_pack_header *)data;
  /* Magic and format come first in every format, so a newer pack is told from a damaged one. */
  if (size < sizeof header->magic + sizeof header->format ||
      memcmp(header->magic, LAMPAR_PACK_MAGIC, sizeof header->magic) != 0)
    return lampar_fail(LAMPAR_ERROR_PACK, "%s is not a lampar pack", name);
  if (header->format != LAMPAR_PACK_FORMAT)
    return lampar_fail(LAMPAR_ERROR_VERSION,
                       "%s: pack format %u, this lampar reads format %d: build the pack again with "
                       "this version",
                       name, header->format, LAMPAR_PACK_FORMAT);
  if (size < sizeof *header || header->file_bytes != size)
    return lampar_fail(LAMPAR_ERROR_PACK, "%s is truncated (%zu bytes): build it again", name,
                       size);
  return LAMPAR_OK;
}

static void digest_of(const uint8_t *data, size_t size, uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  static const uint8_t zeros[LAMPAR_DIGEST_BYTES];
  const size_t at = offsetof(lampar_pack_header, digest), after = at + LAMPAR_DIGEST_BYTES;
  const lampar_digest_part parts[] = {
      {data, at}, {zeros, sizeof zeros}, {data + after, size - after}};
  lampar_digest_parts(parts, 3, digest);
}

static bool is_record_valid(const lampar_pack_record *record, size_t size) {
  if (!lampar_variant_is_valid(&record->variant) ||
      !is_terminated(record->name, sizeof record->name))
    return false;
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(&record->variant, name);
  return strcmp(name, record->name) == 0 && record->reserved == 0 && record->code_bytes > 0 &&
         record->code_offset % LAMPAR_PACK_ALIGNMENT == 0 && record->code_offset <= size &&
         record->code_bytes <= size - record->code_offset;
}

/* The digest tells a damaged file; the rest guards against a writer that is wrong. */
static lampar_status check(const uint8_t *data, size_t size, const char *name) {
  LAMPAR_TRY(check_header(data, size, name));
  const lampar_pack_header *header = (const lampar_pack_header *)data;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  digest_of(data, size, digest);
  if (memcmp(digest, header->digest, sizeof digest) != 0)
    return lampar_fail(LAMPAR_ERROR_PACK, "%s is damaged (its digest does not fit): build it again",
                       name);
  const lampar_pack_record *records = (const lampar_pack_record *)(data + sizeof *header);
  bool valid = header->header_bytes == sizeof *header && header->record_bytes == sizeof *records &&
               header->record_count <= LAMPAR_PACK_RECORDS_MAX && header->needs_nvlink <= 1 &&
               header->record_count <= (size - sizeof *header) / sizeof *records &&
               is_terminated(header->name, sizeof header->name) &&
               is_terminated(header->version, sizeof header->version);
  for (uint32_t i = 0; valid && i < header->record_count; ++i)
    valid = is_record_valid(&records[i], size) &&
            (i == 0 || lampar_variant_compare(&records[i - 1].variant, &records[i].variant) < 0);
  if (!valid)
    return lampar_fail(LAMPAR_ERROR_PACK, "%s: its contents are inconsistent: build it again",
                       name);
  return LAMPAR_OK;
}

static lampar_status adopt(const uint8_t *data, size_t size, const char *name,
                           lampar_pack **result) {
  LAMPAR_TRY(check(data, size, name));
  lampar_pack *pack = calloc(1, sizeof *pack);
  if (pack == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", name);
  pack->data = data;
  pack->size = size;
  pack->header = (const lampar_pack_header *)data;
  pack->records = (const lampar_pack_record *)(data + sizeof *pack->header);
  lampar_digest_hex(pack->header->digest, pack->digest);
  *result = pack;
  return LAMPAR_OK;
}

lampar_status lampar_pack_open(const char *path, lampar_pack **pack) {
  if (path == NULL || pack == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_pack_open: path or pack is NULL");
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s cannot be opened: %s", path, strerror(errno));
  lampar_status status;
  struct stat facts;
  void *data = MAP_FAILED;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s is not a file", path);
  } else if (facts.st_size == 0) {
    status = lampar_fail(LAMPAR_ERROR_PACK, "%s is empty", path);
  } else if ((data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0)) ==
             MAP_FAILED) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s cannot be mapped: %s", path, strerror(errno));
  } else {
    status = adopt(data, (size_t)facts.st_size, path, pack);
    if (status == LAMPAR_OK) (*pack)->is_mapped = true;
    else munmap(data, (size_t)facts.st_size);
  }
  close(file);
  return status;
}

lampar_status lampar_pack_open_memory(const void *data, size_t size, const char *name,
                                      lampar_pack **pack) {
  if (data == NULL || name == NULL || pack == NULL || (uintptr_t)data % 16 != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_pack_open_memory: NULL, or data not aligned to 16 bytes");
  return adopt(data, size, name, pack);
}

lampar_status lampar_pack_open_owned(void *data, size_t size, const char *name,
                                     lampar_pack **pack) {
  const lampar_status status = lampar_pack_open_memory(data, size, name, pack);
  if (status == LAMPAR_OK) (*pack)->is_owned = true;
  else free(data);
  return status;
}

void lampar_pack_close(lampar_pack *pack) {
  if (pack == NULL) return;
  if (pack->is_mapped) munmap((void *)(uintptr_t)pack->data, pack->size);
  if (pack->is_owned) free((void *)(uintptr_t)pack->data);
  free(pack);
}

size_t lampar_pack_count(const lampar_pack *pack) {
  return pack->header->record_count;
}

const char *lampar_pack_name(const lampar_pack *pack) {
  return pack->header->name;
}

const char *lampar_pack_digest(const lampar_pack *pack) {
  return pack->digest;
}

lampar_status lampar_pack_info(const lampar_pack *pack, size_t index, lampar_kernel_info *info) {
  if (index >= pack->header->record_count)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_pack_info: kernel %zu of %u", index,
                       pack->header->record_count);
  const lampar_pack_record *record = &pack->records[index];
  const lampar_variant *variant = &record->variant;
  *info = (lampar_kernel_info){
      .name = record->name,
      .arch = lampar_arch_name(variant->arch),
      .algorithm = lampar_algorithm_name(variant->algorithm),
      .world = (int)variant->world,
      .dtype = (lampar_dtype)variant->dtype,
      .epilogue = variant->epilogue,
      .rounding = (lampar_rounding)variant->rounding,
      .operands = variant->operands,
      .operand_count = variant->operand_count,
      .hidden = variant->hidden,
      .max_rows = variant->max_rows,
      .max_bytes = variant->max_bytes,
      .persistent = (int)variant->persistent,
      .threads = variant->threads,
      .cluster = variant->cluster,
      .vectors_per_warp = variant->vectors_per_warp,
      .registers = record->registers,
      .shared_bytes = record->shared_bytes,
      .spill_bytes = record->spill_bytes,
      .watchdog_ms = variant->watchdog_ms,
      .code = pack->data + record->code_offset,
      .code_size = record->code_bytes,
  };
  return LAMPAR_OK;
}
