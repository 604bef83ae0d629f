#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "cache/cache_list.h"
#include "cache/cache_place.h"
#include "cli/verbs.h"

static error_t parse(int key, char *value, struct argp_state *state) {
  const char **const action = state->input;
  static const char *const actions[] = {"path", "list", "clear"};
  switch (key) {
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one of path, list and clear");
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; ++i)
      if (strcmp(value, actions[i]) == 0) *action = actions[i];
    if (*action == NULL) argp_error(state, "'%s': expected path, list or clear", value);
    return 0;
  case ARGP_KEY_END:
    if (*action == NULL) argp_error(state, "the action is missing: path, list or clear");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_list(const lampar_cache_list *list) {
  size_t kernels = 0, bytes = 0;
  printf("%-56s %9s  %s\n", "kernel", "bytes", "file");
  for (size_t i = 0; i < list->count; ++i) {
    const lampar_cache_file *const file = &list->files[i];
    printf("%-56s %9zu  %s\n", file->kernel != NULL ? file->kernel : "(no kernel of this format)",
           file->size, file->path);
    kernels += file->kernel != NULL;
    bytes += file->size;
  }
  printf("%zu kernels, %zu bytes\n", kernels, bytes);
}

lampar_status lampar_verb_cache(int argc, char **argv, bool *passed) {
  (void)passed;
  const char *action = NULL;
  const struct argp argp = {
      NULL,
      parse,
      "path|list|clear",
      "Prints, lists or clears the folder of kernels that were compiled at start-up.",
      NULL,
      NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &action);

  lampar_cache_place place;
  lampar_cache_place_find(&place);
  if (place.path[0] == '\0')
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "there is no cache (%s); name a folder in LAMPAR_CACHE_DIR", place.source);
  if (strcmp(action, "path") == 0) {
    printf("%s\n", place.path);
    return LAMPAR_OK;
  }
  lampar_cache_list list;
  LAMPAR_TRY(lampar_cache_list_read(place.path, &list));
  lampar_status status = LAMPAR_OK;
  if (strcmp(action, "list") == 0) {
    print_list(&list);
  } else {
    const size_t count = list.count;
    status = lampar_cache_list_delete(place.path, &list);
    if (status == LAMPAR_OK) printf("%zu files deleted in %s\n", count, place.path);
  }
  lampar_cache_list_free(&list);
  return status;
}
