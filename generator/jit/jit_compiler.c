#include "jit/jit_compiler.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "compile/emu_compile.h"
#include "pack/arch.h"
#include "pack/variant.h"

static const lampar_nvrtc_options options = {.line_info = false};

enum {
  EMU_PARTS = 2 + LAMPAR_EMU_COMPILER_ARGUMENTS,
  NVRTC_PARTS = 2 + LAMPAR_NVRTC_ARGUMENTS_MAX,
  PARTS_MAX = EMU_PARTS > NVRTC_PARTS ? EMU_PARTS : NVRTC_PARTS,
};

static void identify(lampar_jit_compiler *compiler, const char *const *texts, size_t count) {
  lampar_digest_part parts[PARTS_MAX];
  assert(count <= PARTS_MAX);
  for (size_t i = 0; i < count; ++i)
    parts[i] = (lampar_digest_part){texts[i], strlen(texts[i]) + 1};
  lampar_digest_parts(parts, count, compiler->build);
  compiler->is_there = true;
}

static lampar_status open_emu(lampar_jit_compiler *compiler) {
  char *version;
  LAMPAR_TRY(lampar_emu_compiler_version(&version));
  const char *texts[EMU_PARTS] = {lampar_emu_compiler(), version};
  size_t count = 2;
  for (const char *const *at = lampar_emu_compiler_arguments; *at != NULL; ++at)
    texts[count++] = *at;
  identify(compiler, texts, count);
  free(version);
  return LAMPAR_OK;
}

static lampar_status open_nvrtc(lampar_jit_compiler *compiler) {
  LAMPAR_TRY(lampar_nvrtc_open(&compiler->nvrtc));
  LAMPAR_TRY(lampar_nvrtc_require(compiler->nvrtc, compiler->arch));
  const char *texts[NVRTC_PARTS] = {lampar_nvrtc_version(compiler->nvrtc),
                                    lampar_nvrtc_build(compiler->nvrtc)};
  identify(compiler, texts, 2 + lampar_nvrtc_arguments(compiler->nvrtc, &options, texts + 2));
  return LAMPAR_OK;
}

void lampar_jit_compiler_open(lampar_jit_compiler *compiler, uint32_t arch) {
  *compiler = (lampar_jit_compiler){.arch = arch};
  if (lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE_JIT)) {
    snprintf(compiler->why, sizeof compiler->why, "LAMPAR_DISABLE_JIT is set");
    return;
  }
  const lampar_status status = arch == LAMPAR_ARCH_EMU ? open_emu(compiler) : open_nvrtc(compiler);
  if (status != LAMPAR_OK) snprintf(compiler->why, sizeof compiler->why, "%s", lampar_last_error());
}

void lampar_jit_compiler_close(lampar_jit_compiler *compiler) {
  lampar_nvrtc_close(compiler->nvrtc);
  compiler->nvrtc = NULL;
}

/* Adds the first line of the log: "file.cu(3): error: ...". */
static lampar_status add_log(lampar_status status, const char *log) {
  const size_t length = log != NULL ? strcspn(log, "\n") : 0;
  if (length == 0) return status;
  return lampar_fail(status, "%s; its first message: %.*s", lampar_last_error(), (int)length, log);
}

lampar_status lampar_jit_compile(const lampar_jit_compiler *compiler, const char *kernel,
                                 const char *source, lampar_cache_code *code) {
  char file[LAMPAR_NAME_BYTES + 4], *log = NULL;
  snprintf(file, sizeof file, "%s.cu",
           kernel); /* the name that an offline build uses: same bytes */
  lampar_status status = compiler->arch == LAMPAR_ARCH_EMU
                             ? lampar_emu_compile(file, source, &code->bytes, &code->size, &log)
                             : lampar_nvrtc_compile(compiler->nvrtc, file, source, compiler->arch,
                                                    &options, &code->bytes, &code->size, &log);
  memcpy(code->build, compiler->build, sizeof code->build);
  if (status != LAMPAR_OK) status = add_log(status, log);
  free(log);
  return status;
}
