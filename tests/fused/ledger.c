#include "ledger.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

void ledger_open(ledger *book) {
  *book = (ledger){0};
  pthread_mutex_init(&book->mutex, NULL);
}

void ledger_close(ledger *book) {
  pthread_mutex_destroy(&book->mutex);
}

lampar_status ledger_enter(ledger *book, int pack, uint64_t row,
                           const uint8_t digest[LAMPAR_DIGEST_BYTES], const char *who) {
  pthread_mutex_lock(&book->mutex);
  ledger_entry *entry = &book->rows[row];
  if (entry->who[0] == '\0') {
    memcpy(entry->digest, digest, LAMPAR_DIGEST_BYTES);
    snprintf(entry->who, sizeof entry->who, "%s", who);
  }
  book->seen[pack][row] = true;
  const bool is_same = memcmp(entry->digest, digest, LAMPAR_DIGEST_BYTES) == 0;
  pthread_mutex_unlock(&book->mutex);
  if (is_same) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "other bits for the same row %llu: %s, and before: %s",
                     (unsigned long long)row, who, entry->who);
}

void ledger_hash(const ledger *book, int pack, char hex[LAMPAR_DIGEST_HEX], int *rows) {
  lampar_digest_part parts[LEDGER_ROWS];
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  size_t count = 0;
  for (int row = 0; row < LEDGER_ROWS; ++row)
    if (book->seen[pack][row])
      parts[count++] = (lampar_digest_part){book->rows[row].digest, LAMPAR_DIGEST_BYTES};
  lampar_digest_parts(parts, count, digest);
  lampar_digest_hex(digest, hex);
  *rows = (int)count;
}
