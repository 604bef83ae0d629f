/* What a text can do in the sandbox, and what it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <lauxlib.h>

#include "base/error.h"
#include "spec/sandbox.h"

typedef struct script_run {
  const char *text;
  char result[256]; /* what the text returns, as a string */
} script_run;

static int run_text(lua_State *L) {
  script_run *t = lua_touserdata(L, 1);
  lampar_sandbox_environment(L);
  lampar_sandbox_load(L, t->text, strlen(t->text), "text.lua");
  lua_call(L, 0, 1);
  snprintf(t->result, sizeof t->result, "%s", luaL_tolstring(L, -1, NULL));
  return 0;
}

static lampar_status run(script_run *t) {
  lampar_sandbox *sandbox;
  assert_int_equal(lampar_sandbox_open(&sandbox), LAMPAR_OK);
  const lampar_status status = lampar_sandbox_run(sandbox, "text.lua", run_text, t);
  lampar_sandbox_close(sandbox);
  return status;
}

static void gives(const char *text, const char *result) {
  script_run t = {.text = text};
  if (run(&t) != LAMPAR_OK) fail_msg("%s", lampar_last_error());
  assert_string_equal(t.result, result);
}

static void fails(const char *text, const char *message) {
  script_run t = {.text = text};
  assert_int_equal(run(&t), LAMPAR_ERROR_ARGUMENT);
  assert_string_equal(lampar_last_error(), message);
}

static void test_absent_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "io",        "os",           "package",      "debug",  "load",           "loadfile",
      "dofile",    "loadstring",   "require",      "pcall",  "xpcall",         "coroutine",
      "print",     "setmetatable", "getmetatable", "rawset", "collectgarbage", "_G",
      "with_place"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    char text[64], start[64];
    snprintf(text, sizeof text, "return %s", names[i]);
    snprintf(start, sizeof start, "text.lua:1: unknown name %s; the nearest known is ", names[i]);
    script_run t = {.text = text};
    assert_int_equal(run(&t), LAMPAR_ERROR_ARGUMENT);
    assert_memory_equal(lampar_last_error(), start, strlen(start));
  }
  gives("return string.dump", "nil");
  gives("return string.gsub", "nil");
  gives("return ('x').find", "nil");
  gives("return math.random", "nil");
  gives("return table.move", "nil");
}

static void test_order_of_pairs(void **state) {
  (void)state;
  gives("local t, s = { b = 1, [10] = 1, a = 1, [2] = 1, c1 = 1, [1] = 1, B = 1 }, ''\n"
        "for key in pairs(t) do s = s .. key .. ' ' end\n"
        "return s",
        "1 2 10 B a b c1 ");
  gives("local s = ''\n"
        "for key, value in pairs { x = 'y', z = false } do s = s .. key .. tostring(value) end\n"
        "return s",
        "xyzfalse");
  fails("for _ in pairs { [{}] = 1 } do end",
        "text.lua:1: pairs: keys have to be numbers or strings, not a table");
}

static void test_nothing_from_addresses(void **state) {
  (void)state;
  fails("return tostring({})", "text.lua:1: tostring: a table has no text");
  fails("return string.format('%s', string)", "text.lua:1: format: a table has no text");
  fails("return string.format('%p', 'x')", "text.lua:1: format: %p would give an address");
  fails("return string.format('%-20p', 'x')", "text.lua:1: format: %p would give an address");
  gives("return string.format('%%p %d %s', 5, true)", "%p 5 true");
}

static void test_limits(void **state) {
  (void)state;
  fails("local n = 0\nwhile true do n = n + 1 end",
        "text.lua:2: stopped after 20000000 instructions; is there an endless loop?");
  fails("local function again() return again() end\nreturn again()",
        "text.lua:1: stopped after 20000000 instructions; is there an endless loop?");
  fails("local t = {}\nwhile true do t[#t + 1] = {} end",
        "text.lua: stopped because it needs more than 64 MiB of memory");
  fails("local s = 'x'\nwhile true do s = s .. s end",
        "text.lua: stopped because it needs more than 64 MiB of memory");
  fails("local s = ('x'):rep(65536)\nreturn s:rep(2000)",
        "text.lua: stopped because it needs more than 64 MiB of memory");
  fails("return string.rep('', math.maxinteger)",
        "text.lua:1: rep: an integer of at most 65536 times");
  fails("return ('x'):rep(1 << 40)", "text.lua:1: rep: an integer of at most 65536 times");
}

/* A sandbox that has stopped one text still runs the next. */
static void test_after_a_stop(void **state) {
  (void)state;
  lampar_sandbox *sandbox;
  assert_int_equal(lampar_sandbox_open(&sandbox), LAMPAR_OK);
  script_run t = {.text = "while true do end"};
  assert_int_equal(lampar_sandbox_run(sandbox, "text.lua", run_text, &t), LAMPAR_ERROR_ARGUMENT);
  t.text = "return 7";
  assert_int_equal(lampar_sandbox_run(sandbox, "text.lua", run_text, &t), LAMPAR_OK);
  assert_string_equal(t.result, "7");
  lampar_sandbox_close(sandbox);
}

static void test_errors(void **state) {
  (void)state;
  fails("\n\nreturn 1 + {}", "text.lua:3: attempt to perform arithmetic on a table value");
  fails("\nassert(1 == 2, 'not equal')", "text.lua:2: not equal");
  fails("return string.format('%d', 'x')",
        "text.lua:1: bad argument #2 to 'format' (number expected, got string)");
  fails("\nfor _ in pairs(nil) do end",
        "text.lua:2: bad argument #1 to 'for iterator' (table expected, got nil)");
  fails("error { 5 }", "an error was raised with a table instead of a text");
  fails("x = = 1", "text.lua:1: unexpected symbol near '='");
  fails("\x1bLua", "text.lua: is compiled Lua, which is not accepted; give the text");
}

/* What one text does to its functions is not seen by the next. */
static void test_own_environment(void **state) {
  (void)state;
  lampar_sandbox *sandbox;
  assert_int_equal(lampar_sandbox_open(&sandbox), LAMPAR_OK);
  script_run t = {.text = "string.upper, x = nil, 5"};
  assert_int_equal(lampar_sandbox_run(sandbox, "text.lua", run_text, &t), LAMPAR_OK);
  t.text = "return string.upper('a') .. ('b'):upper()";
  assert_int_equal(lampar_sandbox_run(sandbox, "text.lua", run_text, &t), LAMPAR_OK);
  assert_string_equal(t.result, "AB");
  t.text = "return x";
  assert_int_equal(lampar_sandbox_run(sandbox, "text.lua", run_text, &t), LAMPAR_ERROR_ARGUMENT);
  lampar_sandbox_close(sandbox);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_absent_names),    cmocka_unit_test(test_order_of_pairs),
      cmocka_unit_test(test_limits),          cmocka_unit_test(test_nothing_from_addresses),
      cmocka_unit_test(test_errors),          cmocka_unit_test(test_after_a_stop),
      cmocka_unit_test(test_own_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
