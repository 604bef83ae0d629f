/* The promise of the same bits: whoever computes a row of a kernel's samples, on whatever rank, in
 * whatever call, geometry or algorithm, must get what the first one got. */
#ifndef LAMPAR_TEST_LEDGER_H
#define LAMPAR_TEST_LEDGER_H

#include <pthread.h>
#include <stdbool.h>

#include "digest.h"
#include "lampar/lampar.h"

enum { LEDGER_ROWS = 160, LEDGER_PACKS = 8 };

typedef struct ledger_entry {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  char who[200]; /* the first that had it; "": nobody yet */
} ledger_entry;

typedef struct ledger {
  pthread_mutex_t mutex;
  ledger_entry rows[LEDGER_ROWS];
  bool seen[LEDGER_PACKS][LEDGER_ROWS];
} ledger;

void ledger_open(ledger *book);
void ledger_close(ledger *book);

/* Errors: SYSTEM, naming both, when the digest is not the one that is there. Any thread. */
lampar_status ledger_enter(ledger *book, int pack, uint64_t row,
                           const uint8_t digest[LAMPAR_DIGEST_BYTES], const char *who);

/* One hash over the rows that a pack has computed; `*rows` gets their number. */
void ledger_hash(const ledger *book, int pack, char hex[LAMPAR_DIGEST_HEX], int *rows);

#endif
