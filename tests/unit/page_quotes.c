#include "page_quotes.h"

#include <stdio.h>
#include <string.h>

bool page_quotes(const char *message) {
  static char page[1 << 16];
  FILE *file = fopen(LAMPAR_OPERATORS_PAGE, "r");
  if (file == NULL) return false;
  const size_t size = fread(page, 1, sizeof page - 1, file);
  fclose(file);
  page[size] = '\0';
  for (char *p = page; (p = strstr(p, "\n> ")) != NULL;) memcpy(p, "   ", 3);
  size_t length = 0;
  for (size_t i = 0; i < size; ++i) /* a run of spaces becomes one */
    if (page[i] != ' ' || (length > 0 && page[length - 1] != ' ')) page[length++] = page[i];
  page[length] = '\0';
  return strstr(page, message) != NULL;
}
