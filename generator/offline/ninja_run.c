#include "offline/ninja_run.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Returns 0 or an errno. */
static int start(const char *folder, unsigned jobs, pid_t *child) {
  char jobs_text[16];
  snprintf(jobs_text, sizeof jobs_text, "%u", jobs);
  char *arguments[] = {"ninja", jobs > 0 ? "-j" : NULL, jobs_text, NULL};
  posix_spawn_file_actions_t actions;
  int cause = posix_spawn_file_actions_init(&actions);
  if (cause != 0) return cause;
  cause = posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (cause == 0) cause = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (cause == 0) cause = posix_spawnp(child, "ninja", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return cause;
}

lampar_status lampar_ninja_run(const char *folder, unsigned jobs) {
  pid_t child;
  const int cause = start(folder, jobs, &child);
  if (cause == ENOENT)
    return lampar_fail(
        LAMPAR_ERROR_SYSTEM,
        "ninja is not in PATH; install it (Debian: apt install ninja-build), then build "
        "again");
  if (cause != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "ninja cannot be started in %s: %s", folder,
                       strerror(cause));
  int ended;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "ninja in %s: %s", folder, strerror(errno));
  if (WIFSIGNALED(ended))
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "ninja in %s was stopped: %s", folder,
                       strsignal(WTERMSIG(ended)));
  if (WEXITSTATUS(ended) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "a step failed in %s; see its output above", folder);
  return LAMPAR_OK;
}
