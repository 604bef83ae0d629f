#include "cli/disassembly.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* In order of preference; a name without a folder is looked up in PATH. */
static const char *const commands[][2] = {
    {"nvdisasm", "-c"},
    {"cuobjdump", "-sass"},
    {"/usr/local/cuda/bin/nvdisasm", "-c"},
    {"/usr/local/cuda/bin/cuobjdump", "-sass"},
};

/* posix_spawn does not change its arguments, although it does not say so. */
static char *unconst(const char *text) {
  return (char *)(uintptr_t)text;
}

static lampar_status run(char *file) {
  fflush(stdout);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
    char *arguments[] = {unconst(commands[i][0]), unconst(commands[i][1]), file, NULL};
    pid_t child;
    int ended;
    if (posix_spawnp(&child, commands[i][0], NULL, NULL, arguments, environ) != 0) continue;
    while (waitpid(child, &ended, 0) < 0)
      if (errno != EINTR) return lampar_fail(LAMPAR_ERROR_SYSTEM, "waitpid: %s", strerror(errno));
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return LAMPAR_OK;
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s failed; see its output above", commands[i][0]);
  }
  return lampar_fail(
      LAMPAR_ERROR_SYSTEM,
      "neither nvdisasm nor cuobjdump is in PATH or /usr/local/cuda/bin; install NVIDIA's "
      "package cuda-nvdisasm or cuda-cuobjdump");
}

lampar_status lampar_disassembly_print(const void *cubin, size_t size) {
  const char *folder = getenv("TMPDIR");
  char *path;
  if (asprintf(&path, "%s/lampar.XXXXXX", folder != NULL && folder[0] != '\0' ? folder : "/tmp") <
      0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a path");
  const int file = mkstemp(path);
  FILE *const stream = file >= 0 ? fdopen(file, "wb") : NULL;
  bool written = stream != NULL && fwrite(cubin, 1, size, stream) == size;
  if (stream != NULL) written = fclose(stream) == 0 && written;
  else if (file >= 0) close(file);
  const lampar_status status =
      written
          ? run(path)
          : lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
  if (file >= 0) unlink(path);
  free(path);
  return status;
}
