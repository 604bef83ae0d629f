/* The verbs of the command line. Each takes its own arguments, with argv[0] as "lampar VERB",
 * prints results on standard output and remarks on standard error. `*passed` starts as true; a verb
 * that checks something makes it false when the check fails (exit status 1). Any status other than
 * LAMPAR_OK is a mistake in what it was given (exit status 2), and main prints its message. */
#ifndef LAMPAR_VERBS_H
#define LAMPAR_VERBS_H

#include <stdbool.h>

#include "base/error.h"

typedef lampar_status (*lampar_verb_function)(int argc, char **argv, bool *passed);

lampar_status lampar_verb_plan(int argc, char **argv, bool *passed);
lampar_status lampar_verb_build(int argc, char **argv, bool *passed);
lampar_status lampar_verb_inspect(int argc, char **argv, bool *passed);
lampar_status lampar_verb_verify(int argc, char **argv, bool *passed);
lampar_status lampar_verb_doctor(int argc, char **argv, bool *passed);
lampar_status lampar_verb_init(int argc, char **argv, bool *passed);
lampar_status lampar_verb_cache(int argc, char **argv, bool *passed);
lampar_status lampar_verb_env(int argc, char **argv, bool *passed);
lampar_status lampar_verb_render(int argc, char **argv, bool *passed);
lampar_status lampar_verb_compile(int argc, char **argv, bool *passed);
lampar_status lampar_verb_pack(int argc, char **argv, bool *passed);

#endif
