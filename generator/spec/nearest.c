#include "spec/nearest.h"

#include <stdint.h>
#include <string.h>

enum { TEXT_MAX = 127 };

/* Levenshtein distance; of long names only the first characters count. */
static size_t distance(const char *a, const char *b) {
  const size_t width = strnlen(b, TEXT_MAX), height = strnlen(a, TEXT_MAX);
  size_t row[TEXT_MAX + 1];
  for (size_t i = 0; i <= width; ++i) row[i] = i;
  for (size_t j = 1; j <= height; ++j) {
    size_t diagonal = row[0];
    row[0] = j;
    for (size_t i = 1; i <= width; ++i) {
      const size_t replaced = diagonal + (a[j - 1] != b[i - 1]);
      const size_t shifted = (row[i] < row[i - 1] ? row[i] : row[i - 1]) + 1;
      diagonal = row[i];
      row[i] = replaced < shifted ? replaced : shifted;
    }
  }
  return row[width];
}

const char *lampar_nearest(const char *typed, const char *const *names, size_t count) {
  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (size_t i = 0; i < count; ++i) {
    const size_t found = distance(typed, names[i]);
    if (found >= best_distance) continue;
    best = names[i];
    best_distance = found;
  }
  return best;
}
