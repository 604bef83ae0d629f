#include "base/digest.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

void lampar_digest_parts(const lampar_digest_part *parts, size_t count,
                         uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (size_t i = 0; i < count; ++i) XXH3_128bits_update(&state, parts[i].data, parts[i].size);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  for (size_t i = 0; i < LAMPAR_DIGEST_BYTES; ++i) digest[i] = canonical.digest[i];
}

void lampar_digest(const void *data, size_t size, uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  lampar_digest_parts(&(lampar_digest_part){data, size}, 1, digest);
}

void lampar_digest_hex(const uint8_t digest[LAMPAR_DIGEST_BYTES], char hex[LAMPAR_DIGEST_HEX]) {
  for (size_t i = 0; i < LAMPAR_DIGEST_BYTES; ++i) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
