/* Generated sources hold nothing that they do not use, for every kernel of the specs of CI; and
 * every part of the templates names what it takes from the others. */
#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "plan/plan.h"
#include "spec/files.h"
#include "template/render.h"

enum { NAMES_MAX = 256 };

/* Part of a text. */
typedef struct word {
  const char *at;
  size_t length;
} word;

static bool is_word_character(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static bool is_equal(word a, word b) {
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static word word_at(const char *at) {
  word found = {at, 0};
  while (is_word_character(at[found.length])) ++found.length;
  return found;
}

/* The first word at or after `at`; empty at the end of the text. */
static word next_word(const char *at) {
  while (*at != '\0' && !is_word_character(*at)) ++at;
  return word_at(at);
}

/* Overwrites comments and strings with blanks. */
static void blank_out(char *text) {
  for (char *at = text; *at != '\0';) {
    if (at[0] == '/' && at[1] == '/') {
      while (*at != '\0' && *at != '\n') *at++ = ' ';
    } else if (*at == '"') {
      *at++ = ' ';
      while (*at != '"') {
        if (*at == '\\') *at++ = ' ';
        *at++ = ' ';
      }
      *at++ = ' ';
    } else {
      ++at;
    }
  }
}

/* The word before the first `mark` of the line. */
static word word_before(const char *line, char mark) {
  const char *end = line + strcspn(line, "\n");
  const char *at = memchr(line, mark, (size_t)(end - line));
  while (at != NULL && at > line && at[-1] == ' ') --at;
  if (at == NULL) return (word){end, 0};
  end = at;
  while (at > line && is_word_character(at[-1])) --at;
  return (word){at, (size_t)(end - at)};
}

static bool begins(const char *line, const char *text) {
  return strncmp(line, text, strlen(text)) == 0;
}

/* The name that a line defines, in the first column or as a member of a struct. */
static word defined_in(const char *line) {
  const char *const text = line + strspn(line, " ");
  if (begins(text, "__device__ ") || begins(text, "inline ")) return word_before(text, '(');
  if (begins(text, "struct ")) return word_before(text, '{');
  if (begins(text, "using ") || begins(text, "constexpr ")) return word_before(text, '=');
  if (begins(text, "__shared__ ")) return word_before(text, '[');
  return (word){text, 0};
}

static size_t count_words(const char *text, word wanted) {
  size_t count = 0;
  for (word found = next_word(text); found.length > 0; found = next_word(found.at + found.length))
    count += is_equal(found, wanted);
  return count;
}

/* Every name is mentioned once more than it is defined. */
static void check_uses(const char *kernel, char *source) {
  blank_out(source);
  word names[NAMES_MAX];
  size_t count = 0;
  for (const char *line = source; *line != '\0';
       line += strcspn(line, "\n"), line += *line == '\n') {
    const word name = defined_in(line);
    if (name.length == 0) continue;
    assert_true(count < NAMES_MAX);
    names[count++] = name;
  }
  assert_true(count > 20);
  for (size_t i = 0; i < count; ++i) {
    size_t definitions = 0;
    for (size_t j = 0; j < count; ++j) definitions += is_equal(names[i], names[j]);
    if (count_words(source, names[i]) == definitions)
      fail_msg("%s: %.*s is not used", kernel, (int)names[i].length, names[i].at);
  }
}

static void check_spec(const char *path) {
  lampar_spec spec;
  lampar_plan plan;
  lampar_renderer *renderer;
  if (lampar_spec_read(path, &spec, NULL) != LAMPAR_OK ||
      lampar_plan_make(&spec, LAMPAR_TEMPLATES, &plan, NULL) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  assert_int_equal(lampar_renderer_open(LAMPAR_TEMPLATES, NULL, &renderer), LAMPAR_OK);
  for (size_t i = 0; i < plan.variant_count; ++i) {
    char name[LAMPAR_NAME_BYTES], *source;
    lampar_variant_name(&plan.variants[i], name);
    if (lampar_renderer_run(renderer, &plan.variants[i], NULL, &source, NULL) != LAMPAR_OK)
      fail_msg("%s: %s", name, lampar_last_error());
    if (plan.variants[i].alignment > 0 &&
        (strstr(source, "load_u16") || strstr(source, "store_u16")))
      fail_msg("%s: moves single elements", name);
    check_uses(name, source);
    free(source);
  }
  lampar_renderer_close(renderer);
  lampar_plan_free(&plan);
  lampar_spec_free(&spec);
}

static void everything_in_a_source_is_used(void **state) {
  (void)state;
  check_spec(LAMPAR_SPECS "/ci.lua");
  check_spec(LAMPAR_SPECS "/ci-fused.lua");
  check_spec(LAMPAR_SPECS "/../tests/emu/aligned.lua");
}

/* ---- what parts need ---- */

/* Names that head.cuh.in makes known: "$a, b = ...", "$function f(...)". Gives their number. */
static size_t names_made_known(const char *head, word names[NAMES_MAX]) {
  size_t count = 0;
  for (const char *line = head; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
    if (begins(line, "$function ")) {
      names[count++] = word_at(line + strlen("$function "));
      continue;
    }
    const size_t length = strspn(line + (*line == '$'), "abcdefghijklmnopqrstuvwxyz_0123456789, ");
    if (*line != '$' || line[1 + length] != '=' || line[2 + length] == '=' ||
        begins(line, "$local "))
      continue;
    for (word name = next_word(line); name.at < line + 1 + length && name.length > 0;
         name = next_word(name.at + name.length))
      names[count++] = name;
  }
  assert_true(count > 10 && count < NAMES_MAX);
  return count;
}

/* Adds the Lua of a template: statements but remarks, and what is inside of ${}. */
static void add_lua(const char *text, FILE *lua, FILE *needs) {
  for (const char *line = text; *line != '\0'; line += *line == '\n') {
    const char *const end = line + strcspn(line, "\n"), *const at = line + strspn(line, " ");
    if (begins(at, "$needs ")) fprintf(needs, "%.*s\n", (int)(end - at), at);
    else if (begins(at, "$--")) {
    } else if (*at == '$' && at[1] != '{') fprintf(lua, "%.*s\n", (int)(end - at), at);
    else
      for (const char *open = at; (open = strstr(open, "${")) != NULL && open < end; ++open)
        fprintf(lua, "%.*s\n", (int)strcspn(open, "}"), open);
    line = end;
  }
}

static void check_needs(const char *path, const word *names, size_t count) {
  char *text, *lua_text, *needs_text;
  size_t size;
  assert_int_equal(lampar_file_read(path, 1 << 20, &text, &size), LAMPAR_OK);
  FILE *const lua = open_memstream(&lua_text, &size), *const needs =
                                                          open_memstream(&needs_text, &size);
  add_lua(text, lua, needs);
  fclose(lua);
  fclose(needs);
  for (size_t i = 0; i < count; ++i) {
    const bool is_used = count_words(lua_text, names[i]) > 0;
    const bool is_named = count_words(needs_text, names[i]) > 0;
    if (is_used != is_named)
      fail_msg("%s: $needs %s %.*s", path, is_named ? "names without a use" : "does not name",
               (int)names[i].length, names[i].at);
  }
  free(lua_text);
  free(needs_text);
  free(text);
}

static void parts_name_what_they_need(void **state) {
  (void)state;
  char *head;
  size_t size;
  word names[NAMES_MAX];
  assert_int_equal(lampar_file_read(LAMPAR_TEMPLATES "/parts/head.cuh.in", 1 << 20, &head, &size),
                   LAMPAR_OK);
  const size_t count = names_made_known(head, names);
  static const char *const folders[] = {"", "parts", "parts/ptx", "parts/emu"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", LAMPAR_TEMPLATES, folders[i]);
    DIR *const open = opendir(folder);
    assert_non_null(open);
    size_t files = 0;
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
      char path[1024];
      if (strstr(entry->d_name, ".in") == NULL || strcmp(entry->d_name, "head.cuh.in") == 0)
        continue;
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      check_needs(path, names, count);
      ++files;
    }
    closedir(open);
    assert_true(files > 1);
  }
  free(head);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_in_a_source_is_used),
      cmocka_unit_test(parts_name_what_they_need),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
