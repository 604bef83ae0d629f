/* config.json of a model, and the spec that is made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "spec/hf_config.h"
#include "spec/spec.h"

/* A spec that lampar itself writes must be one that it reads. */
static void read_again(const char *text) {
  lampar_spec spec;
  if (lampar_spec_read_text("made.lua", text, &spec) != LAMPAR_OK) {
    fprintf(stderr, "%s\n%s\n", lampar_last_error(), text);
    abort();
  }
  lampar_spec_free(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  const int file = memfd_create("config.json", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const lampar_hf_request request = {
      .archs = {90}, .arch_count = 1, .worlds = {8}, .world_count = 1};
  char *spec, *remarks;
  if (lampar_hf_config_spec(path, &request, &spec, &remarks) == LAMPAR_OK) {
    ++fuzz_accepted;
    read_again(spec);
    free(spec);
    free(remarks);
  }
  close(file);
  return 0;
}
