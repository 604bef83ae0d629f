#include "pack/pack_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sized.h"
#include "pack/arch.h"
#include "pack/enum_names.h"

static lampar_status inconsistent(const char *name) {
  return lampar_fail(LAMPAR_ERROR_PACK, "%s: its contents are inconsistent: build it again", name);
}

static bool is_terminated(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

static lampar_status check_header(const uint8_t *data, size_t size, const char *name) {
  const lampar_pack_header *header = (const lampar_pack_header *)data;
  /* Magic and format come first in every format, to distinguish a newer pack from a damaged one. */
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

static bool is_record_valid(const lampar_pack_record *record, const lampar_variant *variant,
                            size_t size) {
  if (!lampar_variant_is_valid(variant) || !is_terminated(record->name, sizeof record->name))
    return false;
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  return strcmp(name, record->name) == 0 && record->code_bytes > 0 &&
         record->code_offset % LAMPAR_PACK_ALIGNMENT == 0 && record->code_offset <= size &&
         record->code_bytes <= size - record->code_offset;
}

/* The digest finds a damaged file; the rest guards against a writer with a bug. */
static lampar_status check(const uint8_t *data, size_t size, const char *name) {
  LAMPAR_TRY(check_header(data, size, name));
  const lampar_pack_header *header = (const lampar_pack_header *)data;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  digest_of(data, size, digest);
  if (memcmp(digest, header->digest, sizeof digest) != 0)
    return lampar_fail(LAMPAR_ERROR_PACK, "%s is damaged (its digest does not fit): build it again",
                       name);
  if (header->header_bytes == sizeof *header &&
      header->record_bytes == sizeof(lampar_pack_record) &&
      header->record_count <= LAMPAR_PACK_RECORDS_MAX && header->needs_nvlink <= 1 &&
      header->record_count <= (size - sizeof *header) / sizeof(lampar_pack_record) &&
      is_terminated(header->name, sizeof header->name) &&
      is_terminated(header->version, sizeof header->version))
    return LAMPAR_OK;
  return inconsistent(name);
}

static lampar_status read_kernels(lampar_pack *pack, const char *name) {
  const lampar_pack_record *records =
      (const lampar_pack_record *)(pack->data + sizeof *pack->header);
  pack->kernels = calloc((size_t)pack->header->record_count + 1, sizeof *pack->kernels);
  if (pack->kernels == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory", name);
  for (uint32_t i = 0; i < pack->header->record_count; ++i) {
    lampar_pack_kernel *kernel = &pack->kernels[i];
    lampar_pack_record_to_variant(&records[i], &kernel->variant);
    if (!is_record_valid(&records[i], &kernel->variant, pack->size) ||
        (i > 0 && lampar_variant_compare(&kernel[-1].variant, &kernel->variant) >= 0))
      return inconsistent(name);
    kernel->record = &records[i];
    kernel->code = pack->data + records[i].code_offset;
    for (uint32_t o = 0; o < kernel->variant.operand_count; ++o)
      kernel->operands[o] = &kernel->variant.operands[o];
  }
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
  lampar_digest_hex(pack->header->digest, pack->digest);
  const lampar_status status = read_kernels(pack, name);
  if (status == LAMPAR_OK) *result = pack;
  else lampar_pack_close(pack);
  return status;
}

lampar_status lampar_pack_open(const char *path, lampar_pack **pack) {
  if (path == NULL || pack == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_pack_open: path or pack is NULL");
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s cannot be opened: %s", path, strerror(errno));
  lampar_status status = LAMPAR_OK;
  struct stat facts;
  void *data = MAP_FAILED;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s is not a file", path);
  else if (facts.st_size == 0) status = lampar_fail(LAMPAR_ERROR_PACK, "%s is empty", path);
  if (status != LAMPAR_OK) goto out;
  data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (data == MAP_FAILED) {
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s cannot be mapped: %s", path, strerror(errno));
    goto out;
  }
  LAMPAR_TRY_OUT(adopt(data, (size_t)facts.st_size, path, pack));
  (*pack)->is_mapped = true;
  data = MAP_FAILED; /* now the pack's */
out:
  if (data != MAP_FAILED) munmap(data, (size_t)facts.st_size);
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

void lampar_pack_close(lampar_pack *pack) {
  if (pack == NULL) return;
  if (pack->is_mapped) munmap((void *)(uintptr_t)pack->data, pack->size);
  if (pack->is_owned) free((void *)(uintptr_t)pack->data);
  free(pack->kernels);
  free(pack);
}

size_t lampar_pack_count(const lampar_pack *pack) {
  return pack != NULL ? pack->header->record_count : 0;
}

const char *lampar_pack_name(const lampar_pack *pack) {
  return pack != NULL ? pack->header->name : "";
}

const char *lampar_pack_digest(const lampar_pack *pack) {
  return pack != NULL ? pack->digest : "";
}

/* From a field of a variant to that of lampar_kernel_info, by kind. */
#define INFO_NUMBER(value)    (value)
#define INFO_SIZE(value)      (value)
#define INFO_FLAG(value)      (value)
#define INFO_TEXT(value)      (value)
#define INFO_ARCH(value)      lampar_arch_name(value)
#define INFO_ALGORITHM(value) lampar_algorithm_name(value)
#define INFO_DTYPE(value)     (lampar_dtype)(value)
#define INFO_ROUNDING(value)  (lampar_rounding)(value)
#define INFO_TRIGGER(value)   lampar_trigger_name(value)

lampar_status lampar_pack_info(const lampar_pack *pack, size_t index, lampar_kernel_info *info) {
  if (index >= lampar_pack_count(pack))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_pack_info: kernel %zu of %zu%s", index,
                       lampar_pack_count(pack), pack == NULL ? ": the pack is NULL" : "");
  const lampar_pack_kernel *kernel = &pack->kernels[index];
  const lampar_pack_record *record = kernel->record;
  lampar_kernel_info found = {
#define FIELD(type, field, kind) .field = INFO_##kind(kernel->variant.field),
      LAMPAR_VARIANT_FIELDS(FIELD)
#undef FIELD
          .name = record->name,
      .operands = kernel->operands,
      .operand_count = kernel->variant.operand_count,
      .registers = record->registers,
      .shared_bytes = record->shared_bytes,
      .spill_bytes = record->spill_bytes,
      .code = kernel->code,
      .code_size = record->code_bytes,
  };
  return lampar_sized_write(info, &found, sizeof found, "lampar_kernel_info");
}
