/* The table of generator/docs/stages.md says what the stage files declare. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <lauxlib.h>

#include "base/error.h"
#include "spec/sandbox.h"
#include "template/stages.h"
#include "template/template_text.h"

typedef struct documenting {
  const char *name;
  FILE *out;
} documenting;

static const char *text_of(lua_State *L, const char *field) {
  lua_getfield(L, -1, field);
  const char *const text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text;
}

static void document_options(lua_State *L, FILE *out) {
  lua_getfield(L, -1, "options");
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; ++i) {
    fprintf(out, "%s`%s`:", i > 1 ? "; " : "", text_of(L, "name"));
    lua_getfield(L, -1, "choices");
    for (lua_Integer c = 1; lua_rawgeti(L, -1, c) != LUA_TNIL; ++c) {
      fprintf(out, " %s", lua_tostring(L, -1));
      lua_pop(L, 1);
    }
    lua_pop(L, 3);
  }
  lua_pop(L, 2);
}

static void document_operands(lua_State *L, FILE *out) {
  lua_getfield(L, -1, "operands");
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; ++i) {
    const char *const dtype = text_of(L, "dtype"), *const per = text_of(L, "per");
    lua_getfield(L, -1, "output");
    const char *const way = lua_toboolean(L, -1) ? "out" : "in";
    lua_getfield(L, -2, "group");
    const lua_Integer group = lua_tointeger(L, -1);
    lua_pop(L, 2);
    fprintf(out, "%s`%s`: %s, %s, per %s", i > 1 ? "; " : "", text_of(L, "name"), way,
            strcmp(dtype, "f16") == 0 ? "*dtype*" : dtype, per);
    if (group > 0) fprintf(out, " of %lld", (long long)group);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

/* With f16, which no stage names as the dtype of an operand, so that the kernel's dtype shows. */
static int document(lua_State *L) {
  const documenting *const d = lua_touserdata(L, 1);
  const lampar_variant key = {
      .arch = 90, .algorithm = LAMPAR_ONESHOT, .world = 2, .dtype = LAMPAR_F16, .hidden = 4096};
  lampar_template_run run = {.templates = LAMPAR_TEMPLATES};
  const lampar_own_stages own = {0};
  if (lampar_stages_push(L, &run, &own, &key, d->name, NULL) != LAMPAR_STAGES_MADE)
    return luaL_error(L, "%s", lua_tostring(L, -1));
  lua_getfield(L, -1, "stages");
  lua_rawgeti(L, -1, 1);
  fprintf(d->out, "| `%s` | ", d->name);
  for (const char *at = text_of(L, "about"); *at != '\0'; ++at)
    fprintf(d->out, *at == '|' ? "\\|" : "%c", *at);
  fputs(" | ", d->out);
  document_options(L, d->out);
  fputs(" | ", d->out);
  document_operands(L, d->out);
  fputs(" |\n", d->out);
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void the_page_lists_every_stage(void **state) {
  (void)state;
  lampar_files names = {0};
  assert_int_equal(lampar_template_names(LAMPAR_TEMPLATES, "epilogues", &names), LAMPAR_OK);
  qsort(names.paths, names.count, sizeof *names.paths, by_name);
  char *table;
  size_t size;
  FILE *const out = open_memstream(&table, &size);
  fputs("\n| stage | what it does | options, the default first | operands, with the defaults |\n"
        "| --- | --- | --- | --- |\n",
        out);
  lampar_sandbox *sandbox;
  assert_int_equal(lampar_sandbox_open(&sandbox), LAMPAR_OK);
  for (size_t i = 0; i < names.count; ++i) {
    documenting d = {names.paths[i], out};
    if (lampar_sandbox_run(sandbox, d.name, document, &d) != LAMPAR_OK)
      fail_msg("%s", lampar_last_error());
  }
  lampar_sandbox_close(sandbox);
  lampar_files_free(&names);
  assert_int_equal(fclose(out), 0);

  char *text;
  size_t length;
  assert_int_equal(lampar_file_read(LAMPAR_STAGES_DOC, 1 << 20, &text, &length), LAMPAR_OK);
  const char *const start = strstr(text, "with the files -->\n");
  const char *const end = strstr(text, "<!-- end -->");
  assert_true(start != NULL && end != NULL);
  const char *const found = start + strlen("with the files -->");
  if ((size_t)(end - found) != size || strncmp(found, table, size) != 0) {
    fputs(table, stderr);
    fail_msg("%s should have this table", LAMPAR_STAGES_DOC);
  }
  free(text);
  free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_page_lists_every_stage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
