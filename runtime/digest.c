#include "digest.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void lampar_digest(const void *data, size_t size, uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
  for (size_t i = 0; i < LAMPAR_DIGEST_BYTES; ++i) digest[i] = canonical.digest[i];
}

void lampar_digest_hex(const uint8_t digest[LAMPAR_DIGEST_BYTES], char hex[LAMPAR_DIGEST_HEX]) {
  for (size_t i = 0; i < LAMPAR_DIGEST_BYTES; ++i) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
