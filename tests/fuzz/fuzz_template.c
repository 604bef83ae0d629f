/* The template language: what compiles is a chunk that Lua can load, too. */
#include <stdlib.h>

#include <lauxlib.h>

#include "base/error.h"
#include "fuzz.h"
#include "spec/sandbox.h"
#include "template/template.h"

typedef struct chunk {
  char *text;
  size_t size;
} chunk;

static int load(lua_State *L) {
  const chunk *c = lua_touserdata(L, 1);
  lampar_sandbox_environment(L);
  lampar_sandbox_load(L, c->text, c->size, "fuzz.cu.in");
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chunk c;
  if (lampar_template_compile("fuzz.cu.in", (const char *)data, size, &c.text, &c.size) !=
      LAMPAR_OK)
    return 0;
  lampar_sandbox *sandbox;
  if (lampar_sandbox_open(&sandbox) == LAMPAR_OK) {
    if (lampar_sandbox_run(sandbox, "fuzz.cu.in", load, &c) == LAMPAR_OK) ++fuzz_accepted;
    lampar_sandbox_close(sandbox);
  }
  free(c.text);
  return 0;
}
