/* The tool: picks the verb, and turns its status into an exit status. */
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
    {"plan", lampar_verb_plan, "the kernels that a spec makes"},
    {"build", lampar_verb_build, "a spec into a pack of compiled kernels"},
    {"inspect", lampar_verb_inspect, "the kernels of a pack and what they need"},
    {"verify", lampar_verb_verify, "runs the kernels of a pack and checks every bit"},
    {"doctor", lampar_verb_doctor, "why kernels would or would not run here"},
    {"init", lampar_verb_init, "a spec from a model's config.json"},
    {"cache", lampar_verb_cache, "the kernels that were compiled at start-up"},
    {"env", lampar_verb_env, "the variables that are read, and their values"},
    {"render", lampar_verb_render, "one kernel of a plan into source (a step of build)"},
    {"compile", lampar_verb_compile, "one source into a cubin (a step of build)"},
    {"pack", lampar_verb_pack, "a plan and its cubins into a pack (a step of build)"},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static void print_help(void) {
  printf("Usage: lampar VERB [ARGUMENT...]\n"
         "One-shot Lamport all-reduce kernels, generated for exact shapes.\n\n");
  for (size_t i = 0; i < VERB_COUNT; ++i) printf("  %-9s%s\n", verbs[i].name, verbs[i].summary);
  printf("\n`lampar VERB --help` tells about one verb; `lampar --version` is the version.\n"
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
        lampar_fail(LAMPAR_ERROR_SYSTEM, "standard output cannot be written: %s", strerror(errno));
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
        lampar_fail(LAMPAR_ERROR_ARGUMENT, "no verb is given; `lampar --help` lists them"), true);
  return finish("lampar", unknown_verb(typed), true);
}
