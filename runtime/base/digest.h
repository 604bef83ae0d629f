/* XXH3-128. Detects differences; it is no defence against an attacker. */
#ifndef LAMPAR_DIGEST_H
#define LAMPAR_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { LAMPAR_DIGEST_BYTES = 16, LAMPAR_DIGEST_HEX = 33 };

/* Big-endian, as `xxhsum -H2` prints it. */
void lampar_digest(const void *data, size_t size, uint8_t digest[LAMPAR_DIGEST_BYTES]);

/* The same over the concatenation of several parts. */
typedef struct lampar_digest_part {
  const void *data;
  size_t size;
} lampar_digest_part;
void lampar_digest_parts(const lampar_digest_part *parts, size_t count,
                         uint8_t digest[LAMPAR_DIGEST_BYTES]);

void lampar_digest_hex(const uint8_t digest[LAMPAR_DIGEST_BYTES], char hex[LAMPAR_DIGEST_HEX]);

#endif
