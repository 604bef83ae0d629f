#include "golden_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

void golden_rows_open(golden_rows *book) {
  *book = (golden_rows){0};
  pthread_mutex_init(&book->mutex, NULL);
}

void golden_rows_close(golden_rows *book) {
  pthread_mutex_destroy(&book->mutex);
}

lampar_status golden_rows_enter(golden_rows *book, int pack, uint64_t row,
                                const uint8_t digest[LAMPAR_DIGEST_BYTES], const char *who) {
  pthread_mutex_lock(&book->mutex);
  golden_rows_entry *entry = &book->rows[row];
  if (entry->who[0] == '\0') {
    memcpy(entry->digest, digest, LAMPAR_DIGEST_BYTES);
    snprintf(entry->who, sizeof entry->who, "%s", who);
  }
  book->seen[pack][row] = true;
  const bool is_same = memcmp(entry->digest, digest, LAMPAR_DIGEST_BYTES) == 0;
  pthread_mutex_unlock(&book->mutex);
  if (is_same) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "other bits for the same row %llu: %s, and before: %s",
                     (unsigned long long)row, who, entry->who);
}

void golden_rows_hash(const golden_rows *book, int pack, char hex[LAMPAR_DIGEST_HEX], int *rows) {
  lampar_digest_part parts[GOLDEN_ROWS_ROWS];
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  size_t count = 0;
  for (int row = 0; row < GOLDEN_ROWS_ROWS; ++row)
    if (book->seen[pack][row])
      parts[count++] = (lampar_digest_part){book->rows[row].digest, LAMPAR_DIGEST_BYTES};
  lampar_digest_parts(parts, count, digest);
  lampar_digest_hex(digest, hex);
  *rows = (int)count;
}
