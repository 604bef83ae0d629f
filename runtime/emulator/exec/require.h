/* Memory that the emulator itself cannot run without. */
#ifndef LAMPAR_EMU_REQUIRE_H
#define LAMPAR_EMU_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

static inline void *require(void *memory) {
  if (memory != NULL) return memory;
  fprintf(stderr, "lampar-emu: out of memory\n");
  abort();
}

#endif
