/* A spec, from its text to its plan. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/plan.h"
#include "spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  memcpy(text, data, size);
  text[size] = '\0';
  lampar_spec spec;
  lampar_plan plan;
  if (lampar_spec_read_text("fuzz.lua", text, &spec) == LAMPAR_OK) {
    if (lampar_plan_make(&spec, NULL, &plan, NULL) == LAMPAR_OK) {
      ++fuzz_accepted;
      lampar_plan_free(&plan);
    }
    lampar_spec_free(&spec);
  }
  free(text);
  return 0;
}
