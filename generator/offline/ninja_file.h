/* build.ninja: the steps from a plan to its pack. People can read it. */
#ifndef LAMPAR_NINJA_FILE_H
#define LAMPAR_NINJA_FILE_H

#include "plan/plan.h"

/* Paths are absolute. */
typedef struct lampar_ninja_file {
  const char *tool; /* the executable */
  const char *spec;
  const char *templates; /* folder */
  const char *stages;    /* folder of the spec's own stages; NULL: none */
  const char *nvrtc;     /* library; NULL: no kernel needs it */
  const char *archs;     /* as given to --arch; NULL: all of the spec */
  bool line_info;
  lampar_files spec_files; /* inputs of the plan: the spec, the files it requires, stages */
} lampar_ninja_file;

/* The caller frees `text`. Errors: ARGUMENT (a path with a quote or a line end), SYSTEM. */
lampar_status lampar_ninja_file_make(const lampar_plan *plan, const lampar_ninja_file *facts,
                                     char **text);

#endif
