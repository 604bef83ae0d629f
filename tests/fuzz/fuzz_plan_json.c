/* plan.json: what is accepted is written again as the same text. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/plan.h"

static void write_again(const lampar_plan *plan) {
  char *first, *second;
  lampar_plan again;
  if (lampar_plan_to_json(plan, &first) != LAMPAR_OK ||
      lampar_plan_from_json("again.json", first, &again) != LAMPAR_OK ||
      lampar_plan_to_json(&again, &second) != LAMPAR_OK || strcmp(first, second) != 0)
    abort();
  lampar_plan_free(&again);
  free(first);
  free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  memcpy(text, data, size);
  text[size] = '\0';
  lampar_plan plan;
  if (lampar_plan_from_json("plan.json", text, &plan) == LAMPAR_OK) {
    ++fuzz_accepted;
    write_again(&plan);
    lampar_plan_free(&plan);
  }
  free(text);
  return 0;
}
