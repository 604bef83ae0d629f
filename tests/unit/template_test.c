/* Template text to Lua text: lines, blocks, indentation, values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "template/template.h"

#define HEAD "local _line, _part, _emit, argument = ... "

static void gives(const char *text, const char *expected) {
  char *chunk;
  size_t size;
  if (lampar_template_compile("t.in", text, strlen(text), &chunk, &size) != LAMPAR_OK)
    fail_msg("%s", lampar_last_error());
  assert_string_equal(chunk, expected);
  assert_int_equal(size, strlen(expected));
  free(chunk);
}

static void fails(const char *text, const char *message) {
  char *chunk;
  size_t size;
  assert_int_equal(lampar_template_compile("t.in", text, strlen(text), &chunk, &size),
                   LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
}

static void test_text(void **state) {
  (void)state;
  gives("", HEAD);
  gives("a\n\n  b\n", HEAD "_line(1, \"a\")\n_line(2, \"\")\n_line(3, \"  b\")\n");
  gives("no newline at the end", HEAD "_line(1, \"no newline at the end\")\n");
  gives("say \"x\\n\"\n", HEAD "_line(1, \"say \\\"x\\\\n\\\"\")\n");
}

static void test_values(void **state) {
  (void)state;
  gives("a ${b} c\n", HEAD "_line(1, \"a \", (b), \"b\", \" c\")\n");
  gives("${a}${b}\n", HEAD "_line(1, \"\", (a), \"a\", \"\", (b), \"b\", \"\")\n");
  gives("${f{1, {2}}} ${\"}\"} ${'}'} ${[[}]]}\n",
        HEAD "_line(1, \"\", (f{1, {2}}), \"f{1, {2}}\", \" \", (\"}\"), \"\\\"}\\\"\", \" \", "
             "('}'), \"'}'\", \" \", ([[}]]), \"[[}]]\", \"\")\n");
  gives("$$ 5 and a$$b\n", HEAD "_line(1, \"\" .. \"$\" .. \" 5 and a\" .. \"$\" .. \"b\")\n");
  fails("\na ${b\n", "t.in:2: ${ is not closed on its line");
  fails("${\"}\n", "t.in:1: ${ is not closed on its line");
  fails("a $b\n",
        "t.in:1: a single $ in a line of text; write $$ for a dollar, ${...} for a value");
}

static void test_statements(void **state) {
  (void)state;
  gives("$-- a remark: if for do\n$x = 1\nb\n", HEAD "\nx = 1\n_line(3, \"b\")\n");
  gives("$part \"x\"\n  $part(a and \"b\" or \"c\") -- one of them\n",
        HEAD "_part(0) \"x\"\n_part(2)(a and \"b\" or \"c\") -- one of them\n");
  gives("$x = \"end\" -- end\n$y = [[ if ]]\na\n",
        HEAD "x = \"end\" -- end\ny = [[ if ]]\n_line(3, \"a\")\n");
  gives("$local function f(a) return a end\nb\n",
        HEAD "local function f(a) return a end\n_line(2, \"b\")\n");
}

static void test_blocks(void **state) {
  (void)state;
  gives("$if a then\n  b\n    c\n\n$elseif d then\n    e\n$else\n  f\n$end\ng\n",
        HEAD "if a then\n_line(2, \"b\")\n_line(3, \"  c\")\n_line(4, \"\")\nelseif d then\n"
             "_line(6, \"e\")\nelse\n_line(8, \"f\")\nend\n_line(10, \"g\")\n");
  gives("{\n  $for i = 1, 2 do\n    $if a then\n      b\n    $end\n    $part \"c\"\n  $end\n}\n",
        HEAD
        "_line(1, \"{\")\nfor i = 1, 2 do\nif a then\n_line(4, \"  b\")\nend\n_part(2) \"c\"\nend\n"
        "_line(8, \"}\")\n");
  gives("$repeat\n  a\n$until b\n$while c do\n  d\n$end\n",
        HEAD "repeat\n_line(2, \"a\")\nuntil b\nwhile c do\n_line(5, \"d\")\nend\n");
  fails("$if a then\n  b\n c\n$end\n",
        "t.in:3: indented by 1, less than the body of the block of line 1");
  fails("$if a then\nb\n$end\n",
        "t.in:2: indented by 0, less than the body of the block of line 1");
  fails("  $if a then\n    b\n$end\n", "t.in:3: $end is indented by 0, the block of line 1 by 2");
  fails("$for i = 1, 2 do\n  $if a then\n    b\n  $end\n",
        "t.in:1: the block that begins here is not closed");
  fails("a\n$end\n", "t.in:2: $end closes no block");
  fails("$else\n", "t.in:1: $else closes no block");
  fails("$if a then for i = 1, 2 do\n", "t.in:1: opens or closes more than one block");
  fails("$x = [[\n", "t.in:1: a string has to end on its line");
}

static void test_blanks(void **state) {
  (void)state;
  fails("a \n", "t.in:1: blanks at the end of the line");
  fails("a\r\n", "t.in:1: blanks at the end of the line");
  fails("\ta\n", "t.in:1: a tab at the start of the line");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),       cmocka_unit_test(test_values),
      cmocka_unit_test(test_statements), cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_blanks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
