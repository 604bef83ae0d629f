/* The ELF reader: facts of a cubin. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pack/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lampar_cubin_facts facts;
  if (lampar_cubin_read(data, size, "kernel", "fuzz.cubin", &facts) == LAMPAR_OK) ++fuzz_accepted;
  return 0;
}
