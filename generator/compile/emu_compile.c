#include "compile/emu_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spec/file_bytes.h"
#include "spec/files.h"

enum { CODE_BYTES_MAX = 16 << 20, LOG_BYTES_MAX = 1 << 20 };

extern char **environ;

/* Arithmetic is IEEE's, one rounding per operation: a contracted multiply-add would round once
 * where a GPU rounds twice. The object calls nothing of the C library, so it needs no symbol. */
const char *const lampar_emu_compiler_arguments[LAMPAR_EMU_COMPILER_ARGUMENTS + 1] = {
    "-x",
    "c++",
    "-std=c++17",
    "-O1",
    "-g0",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-ident",
    "-Wl,--build-id=none",
    "-Wl,--strip-all",
    NULL,
};

const char *lampar_emu_compiler(void) {
  const char *const given = getenv("CXX");
  return given != NULL && *given != '\0' ? given : "c++";
}

/* A file in memory, which a child process reads or writes. */
static lampar_status open_memory_file(const char *name, int *file) {
  *file = memfd_create(name, MFD_CLOEXEC);
  if (*file >= 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "no file in memory for the compiler's %s: %s", name,
                     strerror(errno));
}

/* What a child has written, at most `limit` bytes; the caller frees `text`. */
static lampar_status read_back(int file, size_t limit, char **text) {
  *text = NULL;
  const off_t size = lseek(file, 0, SEEK_END);
  if (size < 0 || lseek(file, 0, SEEK_SET) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "the compiler's output cannot be read: %s",
                       strerror(errno));
  const size_t wanted = (size_t)size < limit ? (size_t)size : limit;
  char *const bytes = calloc(1, wanted + 1);
  if (bytes == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the compiler's output");
  const int cause = lampar_file_bytes_read(file, bytes, wanted);
  if (cause != 0) {
    free(bytes);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "the compiler's output cannot be read: %s",
                       strerror(cause));
  }
  *text = bytes;
  return LAMPAR_OK;
}

/* 0, or the errno of what failed. */
static int start(const char *const *arguments, int input, int output, pid_t *process) {
  posix_spawn_file_actions_t actions;
  int cause = posix_spawn_file_actions_init(&actions);
  if (cause != 0) return cause;
  cause = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  if (cause == 0) cause = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (cause == 0) cause = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (cause == 0)
    cause = posix_spawnp(process, arguments[0], &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return cause;
}

/* Runs the compiler to its end. `*result` is its exit status. */
static lampar_status run(const char *const *arguments, int input, int output, int *result) {
  pid_t process;
  const int cause = start(arguments, input, output, &process);
  if (cause != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "%s: %s; kernels of arch emu are compiled by the host's C++ compiler: "
                       "install one (g++, clang++), or name it in CXX",
                       arguments[0], strerror(cause));
  int status;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: %s", arguments[0], strerror(errno));
  if (WIFSIGNALED(status))
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s was stopped: %s", arguments[0],
                       strsignal(WTERMSIG(status)));
  *result = WEXITSTATUS(status);
  return LAMPAR_OK;
}

lampar_status lampar_emu_compiler_version(char **version) {
  const char *const arguments[] = {lampar_emu_compiler(), "--version", NULL};
  int result = 0, output = -1;
  *version = NULL;
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  lampar_status status =
      input >= 0 ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "/dev/null: %s", strerror(errno));
  if (status == LAMPAR_OK) status = open_memory_file("version", &output);
  if (status == LAMPAR_OK) status = run(arguments, input, output, &result);
  if (status == LAMPAR_OK && result != 0)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM,
                         "%s --version failed with status %d; name another C++ compiler in CXX",
                         arguments[0], result);
  if (status == LAMPAR_OK) status = read_back(output, LOG_BYTES_MAX, version);
  if (status == LAMPAR_OK) (*version)[strcspn(*version, "\n")] = '\0';
  if (input >= 0) close(input);
  if (output >= 0) close(output);
  return status;
}

/* A folder for the output: the linker wants a path that it may replace. */
static lampar_status make_folder(char folder[PATH_MAX]) {
  const char *const temporary = getenv("TMPDIR");
  const int length = snprintf(folder, PATH_MAX, "%s/lampar-XXXXXX",
                              temporary != NULL && *temporary != '\0' ? temporary : "/tmp");
  int cause = ENAMETOOLONG;
  if (length > 0 && length < PATH_MAX) cause = mkdtemp(folder) != NULL ? 0 : errno;
  if (cause == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: %s; set TMPDIR to a folder that can be written",
                     folder, strerror(cause));
}

static lampar_status open_input(const char *name, const char *source, int *input) {
  LAMPAR_TRY(open_memory_file("source", input));
  int cause = lampar_file_bytes_write(*input, source, strlen(source));
  if (cause == 0 && lseek(*input, 0, SEEK_SET) != 0) cause = errno;
  if (cause == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: the compiler's input cannot be written: %s", name,
                     strerror(cause));
}

static lampar_status compile(const char *object, const char *name, int source, int messages,
                             char **code, size_t *size, char **log) {
  const char *arguments[LAMPAR_EMU_COMPILER_ARGUMENTS + 5] = {lampar_emu_compiler()};
  size_t count = 1;
  for (size_t i = 0; lampar_emu_compiler_arguments[i] != NULL; ++i)
    arguments[count++] = lampar_emu_compiler_arguments[i];
  arguments[count++] = "-o";
  arguments[count++] = object;
  arguments[count++] = "-"; /* a path would get into messages and symbols */

  int result = 0;
  LAMPAR_TRY(run(arguments, source, messages, &result));
  LAMPAR_TRY(read_back(messages, LOG_BYTES_MAX, log));
  if (result != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: does not compile for emu with %s", name,
                       arguments[0]);
  return lampar_file_read(object, CODE_BYTES_MAX, code, size);
}

lampar_status lampar_emu_compile(const char *name, const char *source, char **code, size_t *size,
                                 char **log) {
  static const char object_name[] = "/kernel.so";
  char folder[PATH_MAX], object[PATH_MAX + sizeof object_name];
  int input = -1, messages = -1;
  *code = NULL;
  *size = 0;
  *log = NULL;
  LAMPAR_TRY(make_folder(folder));
  snprintf(object, sizeof object, "%s%s", folder, object_name);
  lampar_status status = open_input(name, source, &input);
  if (status == LAMPAR_OK) status = open_memory_file("messages", &messages);
  if (status == LAMPAR_OK) status = compile(object, name, input, messages, code, size, log);
  if (input >= 0) close(input);
  if (messages >= 0) close(messages);
  unlink(object);
  rmdir(folder);
  return status;
}
