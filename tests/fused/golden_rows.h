/* The promise of the same bits: whoever computes a row of a kernel's samples, on whatever rank, in
 * whatever call, geometry or algorithm, must get what the first one got. */
#ifndef LAMPAR_TEST_LEDGER_H
#define LAMPAR_TEST_LEDGER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/digest.h"
#include "lampar/lampar.h"

enum { GOLDEN_ROWS_ROWS = 160, GOLDEN_ROWS_PACKS = 8 };

typedef struct golden_rows_entry {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char who[200]; /* the first that had it; "": nobody yet */
} golden_rows_entry;

typedef struct golden_rows {
  pthread_mutex_t mutex;
  golden_rows_entry rows[GOLDEN_ROWS_ROWS];
  bool seen[GOLDEN_ROWS_PACKS][GOLDEN_ROWS_ROWS];
} golden_rows;

void golden_rows_open(golden_rows *book);
void golden_rows_close(golden_rows *book);

/* Errors: SYSTEM, naming both, when the digest is not the one that is there. Any thread. */
lampar_status golden_rows_enter(golden_rows *book, int pack, uint64_t row,
                                const uint8_t digest[LAMPAR_DIGEST_BYTES], const char *who);

/* One hash over the rows that a pack has computed; `*rows` gets their number. */
void golden_rows_hash(const golden_rows *book, int pack, char hex[LAMPAR_DIGEST_HEX], int *rows);

#endif
