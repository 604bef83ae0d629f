/* The file format of a cached kernel: a header, then the code. Little endian, fixed sizes. Any
 * change here needs a new LAMPAR_CACHE_FORMAT. */
#ifndef LAMPAR_CACHE_ENTRY_H
#define LAMPAR_CACHE_ENTRY_H

#include "base/digest.h"
#include "base/error.h"
#include "pack/variant.h"

#define LAMPAR_CACHE_MAGIC "LAMPARKC"
enum { LAMPAR_CACHE_FORMAT = 1, LAMPAR_CACHE_ENTRY_BYTES_MAX = 64 << 20 };

/* Identifies what a kernel is compiled from. XXH3-128 does not resist an attacker, and need not:
 * whoever can write to the folder can put any code there. Against accidental collisions the name
 * and the length of the source are compared as well. */
typedef struct lampar_cache_key {
  uint8_t digest[LAMPAR_DIGEST_BYTES]; /* of format, arch and the whole source */
  uint64_t source_bytes;
  char name[LAMPAR_NAME_BYTES];
} lampar_cache_key;

void lampar_cache_key_make(const lampar_variant *variant, const char *source,
                           lampar_cache_key *key);

typedef struct lampar_cache_code {
  char *bytes; /* from malloc; NULL: none */
  size_t size;
  uint8_t build[LAMPAR_DIGEST_BYTES]; /* of the compiler: its build and its options */
} lampar_cache_code;

/* The caller frees `entry`. Errors: SYSTEM. */
lampar_status lampar_cache_entry_make(const lampar_cache_key *key, const lampar_cache_code *code,
                                      char **entry, size_t *size);

/* Checks the whole entry and copies its code. `build` NULL: any. Returns NULL, or what is wrong
 * with the entry, such as "is truncated". */
const char *lampar_cache_entry_read(const char *entry, size_t size, const lampar_cache_key *key,
                                    const uint8_t *build, lampar_cache_code *code);

/* The bytes at the start of an entry up to the end of its kernel's name. */
enum { LAMPAR_CACHE_ENTRY_NAME_END = 80 + LAMPAR_NAME_BYTES };

/* Reads the kernel's name from the start of an entry; false when it is not an entry of this format.
 * Checks nothing else. */
bool lampar_cache_entry_name(const char *entry, size_t size, char name[LAMPAR_NAME_BYTES]);

#endif
