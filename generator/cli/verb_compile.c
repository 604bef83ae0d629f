#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "compile/emu_compile.h"
#include "compile/nvrtc.h"
#include "offline/output_file.h"
#include "pack/arch.h"
#include "pack/variant.h"
#include "spec/files.h"

typedef struct arguments {
  const char *source, *arch, *output;
  lampar_nvrtc_options compiler;
} arguments;

enum { OPTION_ARCH = 256, OPTION_LINEINFO };

static const struct argp_option options[] = {
    {"arch", OPTION_ARCH, "ARCH", 0, "Compile for ARCH, such as sm_90", 0},
    {"output", 'o', "FILE.cubin", 0, "Write the cubin to FILE.cubin", 0},
    {"lineinfo", OPTION_LINEINFO, NULL, 0, "Keep line numbers for profilers", 0},
    {0},
};

static error_t parse(int key, char *value, struct argp_state *state) {
  arguments *const given = state->input;
  switch (key) {
  case OPTION_ARCH: given->arch = value; return 0;
  case OPTION_LINEINFO: given->compiler.line_info = true; return 0;
  case 'o': given->output = value; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num > 0) argp_error(state, "expected one FILE.cu");
    given->source = value;
    return 0;
  case ARGP_KEY_END:
    if (given->source == NULL) argp_error(state, "FILE.cu is missing");
    if (given->arch == NULL) argp_error(state, "--arch is missing");
    if (given->output == NULL) argp_error(state, "-o is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static lampar_status compile_with_nvrtc(const arguments *given, uint32_t arch, const char *name,
                                        const char *source, char **cubin, size_t *size,
                                        char **log) {
  lampar_nvrtc *nvrtc;
  LAMPAR_TRY(lampar_nvrtc_open(&nvrtc));
  const lampar_status status =
      lampar_nvrtc_compile(nvrtc, name, source, arch, &given->compiler, cubin, size, log);
  lampar_nvrtc_close(nvrtc);
  return status;
}

/* The compiler gets the file name without its folder, so that no path gets into the cubin. */
static lampar_status compile(const arguments *given, uint32_t arch, const char *source) {
  const char *const slash = strrchr(given->source, '/');
  const char *const name = slash != NULL ? slash + 1 : given->source;
  char *cubin = NULL, *log = NULL;
  size_t size;
  lampar_status status = arch == LAMPAR_ARCH_EMU
                             ? lampar_emu_compile(name, source, &cubin, &size, &log)
                             : compile_with_nvrtc(given, arch, name, source, &cubin, &size, &log);
  if (log != NULL) fputs(log, stderr);
  if (status == LAMPAR_OK) status = lampar_output_file_write(given->output, cubin, size);
  free(cubin);
  free(log);
  return status;
}

lampar_status lampar_verb_compile(int argc, char **argv, bool *passed) {
  (void)passed;
  arguments given = {0};
  const struct argp argp = {
      options,
      parse,
      "FILE.cu --arch ARCH -o FILE.cubin",
      "Compiles one source with NVRTC; for arch emu, with the C++ compiler of this machine.",
      NULL,
      NULL,
      NULL};
  argp_parse(&argp, argc, argv, 0, NULL, &given);

  uint32_t arch;
  if (!lampar_arch_parse(given.arch, &arch))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "--arch %s: unknown arch; expected a name like sm_90",
                       given.arch);
  char *source = NULL;
  size_t size;
  lampar_status status = lampar_file_read(given.source, LAMPAR_SOURCE_BYTES_MAX, &source, &size);
  if (status == LAMPAR_OK) status = compile(&given, arch, source);
  free(source);
  return status;
}
