#include "spec/embedded_texts.h"

#include <string.h>

const lampar_embedded_text *lampar_embedded_find(const lampar_embedded_text *texts,
                                                 const char *name) {
  for (; texts->name != NULL; ++texts)
    if (strcmp(texts->name, name) == 0) return texts;
  return NULL;
}
