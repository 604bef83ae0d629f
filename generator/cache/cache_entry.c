#include "cache/cache_entry.h"

#include <stdlib.h>
#include <string.h>

typedef struct header {
  char magic[8];
  uint32_t format;
  uint32_t header_bytes;
  uint8_t digest[LAMPAR_DIGEST_BYTES]; /* XXH3-128 of the entry with these 16 bytes as zeros */
  uint8_t key[LAMPAR_DIGEST_BYTES];
  uint8_t build[LAMPAR_DIGEST_BYTES];
  uint64_t source_bytes;
  uint64_t code_bytes;
  char name[LAMPAR_NAME_BYTES];
} header;

_Static_assert(sizeof(header) == LAMPAR_CACHE_ENTRY_NAME_END, "the header is part of the format");

void lampar_cache_key_make(const lampar_variant *variant, const char *source,
                           lampar_cache_key *key) {
  static const uint32_t format = LAMPAR_CACHE_FORMAT;
  *key = (lampar_cache_key){.source_bytes = strlen(source)};
  lampar_digest_parts((const lampar_digest_part[]){{&format, sizeof format},
                                                   {&variant->arch, sizeof variant->arch},
                                                   {source, key->source_bytes}},
                      3, key->digest);
  lampar_variant_name(variant, key->name);
}

static void digest_of(const header *h, const char *code, uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  header without = *h;
  memset(without.digest, 0, sizeof without.digest);
  lampar_digest_parts(
      (const lampar_digest_part[]){{&without, sizeof without}, {code, without.code_bytes}}, 2,
      digest);
}

lampar_status lampar_cache_entry_make(const lampar_cache_key *key, const lampar_cache_code *code,
                                      char **entry, size_t *size) {
  *size = sizeof(header) + code->size;
  *entry = malloc(*size);
  if (*entry == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for its cache entry", key->name);
  header h = {.format = LAMPAR_CACHE_FORMAT,
              .header_bytes = sizeof h,
              .source_bytes = key->source_bytes,
              .code_bytes = code->size};
  memcpy(h.magic, LAMPAR_CACHE_MAGIC, sizeof h.magic);
  memcpy(h.key, key->digest, sizeof h.key);
  memcpy(h.build, code->build, sizeof h.build);
  memcpy(h.name, key->name, sizeof h.name);
  digest_of(&h, code->bytes, h.digest);
  memcpy(*entry, &h, sizeof h);
  memcpy(*entry + sizeof h, code->bytes, code->size);
  return LAMPAR_OK;
}

const char *lampar_cache_entry_read(const char *entry, size_t size, const lampar_cache_key *key,
                                    const uint8_t *build, lampar_cache_code *code) {
  header h;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  /* Every format starts with magic and format number. */
  if (size < offsetof(header, header_bytes)) return "is truncated";
  memcpy(&h, entry, size < sizeof h ? size : sizeof h);
  if (memcmp(h.magic, LAMPAR_CACHE_MAGIC, sizeof h.magic) != 0) return "is not a cache entry";
  if (h.format != LAMPAR_CACHE_FORMAT) return "has the format of another lampar";
  if (size < sizeof h || h.code_bytes != size - sizeof h) return "is truncated";
  digest_of(&h, entry + sizeof h, digest);
  if (h.header_bytes != sizeof h || memcmp(digest, h.digest, sizeof digest) != 0)
    return "is damaged (wrong digest)";
  if (memcmp(h.key, key->digest, sizeof h.key) != 0 || h.source_bytes != key->source_bytes ||
      strncmp(h.name, key->name, sizeof h.name) != 0 ||
      (build != NULL && memcmp(h.build, build, sizeof h.build) != 0))
    return "holds another kernel";
  if (h.code_bytes == 0) return "holds no code";
  code->bytes = malloc(h.code_bytes);
  if (code->bytes == NULL) return "cannot be read: out of memory";
  memcpy(code->bytes, entry + sizeof h, h.code_bytes);
  code->size = h.code_bytes;
  memcpy(code->build, h.build, sizeof code->build);
  return NULL;
}

bool lampar_cache_entry_name(const char *entry, size_t size, char name[LAMPAR_NAME_BYTES]) {
  header h;
  if (size < sizeof h) return false;
  memcpy(&h, entry, sizeof h);
  if (memcmp(h.magic, LAMPAR_CACHE_MAGIC, sizeof h.magic) != 0 || h.format != LAMPAR_CACHE_FORMAT ||
      memchr(h.name, '\0', sizeof h.name) == NULL)
    return false;
  memcpy(name, h.name, sizeof h.name);
  return true;
}
