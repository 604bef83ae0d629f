/* liblua5.4.a is compiled for executables, and reads stdin, stdout and stderr in a way that a
 * shared library cannot. In the copy of it that liblampar-jit links they have the names below. No
 * Lua text of a sandbox gets to a function that uses them. */
#include <stdio.h>

extern FILE *lampar_lua_stdin, *lampar_lua_stdout, *lampar_lua_stderr;
FILE *lampar_lua_stdin, *lampar_lua_stdout, *lampar_lua_stderr;

__attribute__((constructor)) static void open_streams(void) {
  lampar_lua_stdin = stdin;
  lampar_lua_stdout = stdout;
  lampar_lua_stderr = stderr;
}
