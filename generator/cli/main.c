/* The tool: runs the verb and maps its status to an exit status. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "spec/nearest.h"

enum { EXIT_DONE = 0, EXIT_CHECK_FAILED = 1, EXIT_BAD_INPUT = 2 };

static const struct {
  const char *name;
  lampar_verb_function run;
  const char *summary;
} verbs[] = {
    {"plan", lampar_verb_plan, "list the kernels that a spec makes"},
    {"build", lampar_verb_build, "compile the kernels of a spec into a pack"},
    {"inspect", lampar_verb_inspect, "list the kernels of a pack and their resources"},
    {"verify", lampar_verb_verify, "run the kernels of a pack and check every bit"},
    {"doctor", lampar_verb_doctor, "report why kernels would or would not run here"},
    {"init", lampar_verb_init, "write a spec from a model's config.json"},
    {"cache", lampar_verb_cache, "print, list or clear the cache of compiled kernels"},
    {"env", lampar_verb_env, "list the environment variables and their values"},
    {"render", lampar_verb_render, "write the source of one kernel (a step of build)"},
    {"compile", lampar_verb_compile, "compile one source into a cubin (a step of build)"},
    {"pack", lampar_verb_pack, "put the cubins of a plan into a pack (a step of build)"},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static void print_help(void) {
  printf("Usage: lampar VERB [ARGUMENT...]\n"
         "One-shot Lamport all-reduce kernels, generated for exact shapes.\n\n");
  for (size_t i = 0; i < VERB_COUNT; ++i) printf("  %-9s%s\n", verbs[i].name, verbs[i].summary);
  printf("\n`lampar VERB --help` describes a verb; `lampar --version` prints the version.\n"
         "Exit status: 0 done; 1 a check failed; 2 wrong usage or bad input.\n");
}

static lampar_status unknown_verb(const char *typed) {
  const char *names[VERB_COUNT];
  for (size_t i = 0; i < VERB_COUNT; ++i) names[i] = verbs[i].name;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "no verb '%s'; did you mean %s? `lampar --help` lists them", typed,
                     lampar_nearest(typed, names, VERB_COUNT));
}

static int finish(const char *subject, lampar_status status, bool passed) {
  if (status == LAMPAR_OK && (fflush(stdout) != 0 || ferror(stdout)))
    status =
        lampar_fail(LAMPAR_ERROR_SYSTEM, "cannot write to standard output: %s", strerror(errno));
  if (status == LAMPAR_OK) return passed ? EXIT_DONE : EXIT_CHECK_FAILED;
  fprintf(stderr, "%s: %s\n", subject, lampar_last_error());
  return EXIT_BAD_INPUT;
}

int main(int argc, char **argv) {
  const char *const typed = argc > 1 ? argv[1] : "";
  argp_err_exit_status = EXIT_BAD_INPUT;

  if (strcmp(typed, "--help") == 0 || strcmp(typed, "-h") == 0) {
    print_help();
    return finish("lampar", LAMPAR_OK, true);
  }
  if (strcmp(typed, "--version") == 0) {
    printf("lampar %s\n", lampar_version());
    return finish("lampar", LAMPAR_OK, true);
  }
  for (size_t i = 0; i < VERB_COUNT; ++i) {
    if (strcmp(typed, verbs[i].name) != 0) continue;
    char subject[32];
    snprintf(subject, sizeof subject, "lampar %s", typed);
    argv[1] = subject;
    bool passed = true;
    const lampar_status status = verbs[i].run(argc - 1, argv + 1, &passed);
    return finish(subject, status, passed);
  }
  if (argc < 2)
    return finish(
        "lampar",
        lampar_fail(LAMPAR_ERROR_ARGUMENT, "the verb is missing; `lampar --help` lists the verbs"),
        true);
  return finish("lampar", unknown_verb(typed), true);
}
