#include <argp.h>
#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/disassembly.h"
#include "cli/verbs.h"
#include "pack/dtype.h"
#include "pack/manifest.h"
#include "pack/variant.h"
#include "plan/json_text.h"
#include "spec/files.h"
#include "spec/nearest.h"

typedef struct arguments {
  const char *pack, *name;
  bool json, source, sass;
} arguments;

enum { OPTION_JSON = 256, OPTION_SOURCE, OPTION_SASS };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Print as JSON", 0},
    {"source", OPTION_SOURCE, NULL, 0, "Print the kernel's source, from src/ next to the pack", 0},
    {"sass", OPTION_SASS, NULL, 0, "Print the kernel's machine code, using NVIDIA's disassembler",
     0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_JSON: given->json = true; return 0;
  case OPTION_SOURCE: given->source = true; return 0;
  case OPTION_SASS: given->sass = true; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num == 0) given->pack = value;
    else if (state->arg_num == 1) given->name = value;
    else argp_error(state, "expected one NAME");
    return 0;
  case ARGP_KEY_END:
    if (given->pack == NULL) argp_error(state, "PACK is missing");
    if (given->json + given->source + given->sass > 1)
      argp_error(state, "expected only one of --json, --source and --sass");
    if ((given->source || given->sass) && given->name == NULL)
      argp_error(state, "--source and --sass need the NAME of a kernel");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static lampar_status read_infos(const lampar_pack *pack, lampar_kernel_info **infos) {
  const size_t count = lampar_pack_count(pack);
  *infos = calloc(count + 1, sizeof **infos);
  if (*infos == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu kernels", count);
  for (size_t i = 0; i < count; ++i) {
    (*infos)[i].size = sizeof **infos;
    LAMPAR_TRY(lampar_pack_info(pack, i, &(*infos)[i]));
  }
  return LAMPAR_OK;
}

/* The kernels to show: the named one, or all. */
static lampar_status choose(const arguments *given, const lampar_kernel_info *infos, size_t *first,
                            size_t *count) {
  *first = 0;
  if (given->name == NULL) return LAMPAR_OK;
  const char **const names = calloc(*count + 1, sizeof *names);
  if (names == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu names", *count);
  /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): every kernel has a name */
  while (*first < *count && strcmp(infos[*first].name, given->name) != 0) ++*first;
  lampar_status status = LAMPAR_OK;
  if (*first == *count) {
    for (size_t i = 0; i < *count; ++i) names[i] = infos[i].name;
    const char *const nearest = lampar_nearest(given->name, names, *count);
    status = lampar_fail(LAMPAR_ERROR_ARGUMENT, "%s: no kernel '%s'; did you mean %s?", given->pack,
                         given->name, nearest != NULL ? nearest : "another pack");
  }
  *count = 1;
  free(names);
  return status;
}

static void print_table(const lampar_kernel_info *infos, size_t count) {
  size_t width = sizeof "kernel" - 1;
  for (size_t i = 0; i < count; ++i)
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): every kernel has a name */
    if (strlen(infos[i].name) > width) width = strlen(infos[i].name);
  printf("%-*s %-7s %5s %5s %6s %15s %8s %7s %9s %6s %6s %7s  %s\n", (int)width, "kernel", "arch",
         "world", "dtype", "hidden", "limit", "shape", "threads", "registers", "shared", "spill",
         "bytes", "epilogue");
  for (size_t i = 0; i < count; ++i) {
    const lampar_kernel_info *const info = &infos[i];
    char hidden[16] = "flat", limit[32], threads[32];
    if (info->hidden > 0) {
      snprintf(hidden, sizeof hidden, "%u", info->hidden);
      snprintf(limit, sizeof limit, "%u rows", info->max_rows);
    } else {
      snprintf(limit, sizeof limit, "%llu B", (unsigned long long)info->max_bytes);
    }
    if (info->cluster > 1) snprintf(threads, sizeof threads, "%ux%u", info->cluster, info->threads);
    else snprintf(threads, sizeof threads, "%u", info->threads);
    printf("%-*s %-7s %5d %5s %6s %15s %8s %7s %9u %6u %6u %7zu  %s%s\n", (int)width, info->name,
           info->arch, info->world, lampar_dtype_name(info->dtype), hidden, limit,
           info->persistent ? "persistent" : "single-pass", threads, info->registers,
           info->shared_bytes, info->spill_bytes, info->code_size,
           info->epilogue[0] != '\0' ? info->epilogue : "-",
           info->rounding == LAMPAR_ROUNDING_FP32 ? " fp32" : "");
  }
}

static lampar_status print_json(const lampar_pack *pack, size_t first, size_t count) {
  cJSON *const root = cJSON_CreateObject();
  const bool good = root != NULL && cJSON_AddNumberToObject(root, "schema_version", 1) != NULL &&
                    cJSON_AddStringToObject(root, "name", lampar_pack_name(pack)) != NULL &&
                    cJSON_AddStringToObject(root, "digest", lampar_pack_digest(pack)) != NULL &&
                    lampar_manifest_kernels(root, pack, first, count);
  char *text;
  LAMPAR_TRY(lampar_json_text(root, good, &text));
  fputs(text, stdout);
  free(text);
  return LAMPAR_OK;
}

static lampar_status print_source(const arguments *given) {
  char path[PATH_MAX];
  const char *const slash = strrchr(given->pack, '/');
  const int folder = slash != NULL ? (int)(slash + 1 - given->pack) : 0;
  const int length = snprintf(path, sizeof path, "%.*ssrc/%s.cu", folder, given->pack, given->name);
  char *text = NULL;
  size_t size;
  if (length < 0 || (size_t)length >= sizeof path ||
      lampar_file_read(path, LAMPAR_SOURCE_BYTES_MAX, &text, &size) != LAMPAR_OK)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "%s: the source of %s is not next to it, as %s; a pack does not hold sources: "
        "build its spec again",
        given->pack, given->name, path);
  fwrite(text, 1, size, stdout);
  free(text);
  return LAMPAR_OK;
}

static lampar_status show(const arguments *given, const lampar_pack *pack) {
  lampar_kernel_info *infos;
  size_t first, count = lampar_pack_count(pack);
  lampar_status status;
  LAMPAR_TRY_OUT(read_infos(pack, &infos));
  LAMPAR_TRY_OUT(choose(given, infos, &first, &count));
  if (given->source) status = print_source(given);
  else if (given->sass)
    status = lampar_disassembly_print(infos[first].code, infos[first].code_size);
  else if (given->json) status = print_json(pack, first, count);
  else print_table(infos + first, count);
out:
  free(infos);
  return status;
}

lampar_status lampar_verb_inspect(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {
      options, parse, "PACK [NAME]", "Lists the kernels of a pack and the resources they need.",
      NULL,    NULL,  NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  lampar_pack *pack;
  LAMPAR_TRY(lampar_pack_open(given.pack, &pack));
  const lampar_status status = show(&given, pack);
  lampar_pack_close(pack);
  return status;
}
