#include "compile/emu_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spec/files.h"

enum { ARGUMENTS_MAX = 32, CODE_BYTES_MAX = 16 << 20, LOG_BYTES_MAX = 1 << 20 };

extern char **environ;

/* Rounding is IEEE's, and an operation is its own: a fused one would round once where a GPU rounds
 * twice. Nothing of the C library is called, so that the object needs no symbol. */
const char *const lampar_emu_compiler_arguments[] = {
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

/* All of a file that a child has written; the caller frees `text`. */
static lampar_status read_back(int file, size_t limit, char **text) {
  const off_t size = lseek(file, 0, SEEK_END);
  const size_t wanted = size < 0 ? 0 : (size_t)size < limit ? (size_t)size : limit;
  *text = calloc(1, wanted + 1);
  if (*text == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  if (pread(file, *text, wanted, 0) == (ssize_t)wanted) return LAMPAR_OK;
  free(*text);
  *text = NULL;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "the compiler's output cannot be read");
}

/* Runs the compiler to its end. `*result` is its exit status. */
static lampar_status run(const char *const *arguments, int input, int output, int *result) {
  posix_spawn_file_actions_t actions;
  pid_t process;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  const int error =
      posix_spawnp(&process, arguments[0], &actions, NULL, (char *const *)arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "%s: %s; kernels of arch emu are made by the host's C++ compiler: install "
                       "one (g++, clang++), or name it in CXX",
                       arguments[0], strerror(error));
  int status;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: %s", arguments[0], strerror(errno));
  *result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return LAMPAR_OK;
}

lampar_status lampar_emu_compiler_version(char **version) {
  *version = NULL;
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = memfd_create("version", MFD_CLOEXEC);
  int result = 0;
  lampar_status status =
      run((const char *[]){lampar_emu_compiler(), "--version", NULL}, null, output, &result);
  if (status == LAMPAR_OK) status = read_back(output, LOG_BYTES_MAX, version);
  if (status == LAMPAR_OK) (*version)[strcspn(*version, "\n")] = '\0';
  close(null);
  close(output);
  return status;
}

/* `folder` is for the output: the linker wants a path that it may replace. */
static lampar_status compile(const char *folder, const char *name, int source, int messages,
                             char **code, size_t *size, char **log) {
  char object[4096];
  const char *arguments[ARGUMENTS_MAX] = {lampar_emu_compiler()};
  size_t count = 1;
  snprintf(object, sizeof object, "%s/kernel.so", folder);
  for (size_t i = 0; lampar_emu_compiler_arguments[i] != NULL; ++i)
    arguments[count++] = lampar_emu_compiler_arguments[i];
  arguments[count++] = "-o";
  arguments[count++] = object;
  arguments[count++] = "-"; /* a path would get into messages and symbols */

  int result = 0;
  LAMPAR_TRY(run(arguments, source, messages, &result));
  lampar_status status = read_back(messages, LOG_BYTES_MAX, log);
  if (status == LAMPAR_OK && result != 0)
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: does not compile for emu with %s", name,
                         lampar_emu_compiler());
  if (status == LAMPAR_OK) status = lampar_file_read(object, CODE_BYTES_MAX, code, size);
  unlink(object);
  return status;
}

lampar_status lampar_emu_compile(const char *name, const char *source, char **code, size_t *size,
                                 char **log) {
  *code = NULL;
  *size = 0;
  *log = NULL;
  char folder[4096];
  const char *const temporary = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/lampar-XXXXXX",
           temporary != NULL && *temporary != '\0' ? temporary : "/tmp");
  if (mkdtemp(folder) == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: %s; set TMPDIR to a folder that can be written",
                       folder, strerror(errno));
  const int input = memfd_create("source", MFD_CLOEXEC);
  const int messages = memfd_create("messages", MFD_CLOEXEC);
  const size_t length = strlen(source);
  lampar_status status = LAMPAR_OK;
  if (input < 0 || messages < 0 || write(input, source, length) != (ssize_t)length ||
      lseek(input, 0, SEEK_SET) != 0)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: no memory for the compiler's input", name);
  if (status == LAMPAR_OK) status = compile(folder, name, input, messages, code, size, log);
  if (input >= 0) close(input);
  if (messages >= 0) close(messages);
  rmdir(folder);
  return status;
}
