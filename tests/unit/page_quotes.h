/* Messages that the page for operators quotes. */
#ifndef LAMPAR_TEST_PAGE_QUOTES_H
#define LAMPAR_TEST_PAGE_QUOTES_H

#include <stdbool.h>

/* Whether the page has the message in a block of lines that begin with "> ", in whatever lines. */
bool page_quotes(const char *message);

#endif
