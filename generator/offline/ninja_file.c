#include "offline/ninja_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/arch.h"

/* The commands quote paths with single quotes, so a path must not contain one. */
static lampar_status check_path(const char *path) {
  if (strpbrk(path, "'\n\r") == NULL) return LAMPAR_OK;
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "%s: a path with a quote or a line end cannot be in build.ninja; move the file", path);
}

static lampar_status check_paths(const lampar_ninja_file *facts) {
  LAMPAR_TRY(check_path(facts->tool));
  LAMPAR_TRY(check_path(facts->spec));
  LAMPAR_TRY(check_path(facts->templates));
  if (facts->nvrtc != NULL) LAMPAR_TRY(check_path(facts->nvrtc));
  if (facts->stages != NULL) LAMPAR_TRY(check_path(facts->stages));
  for (size_t i = 0; i < facts->spec_files.count; ++i)
    LAMPAR_TRY(check_path(facts->spec_files.paths[i]));
  return LAMPAR_OK;
}

/* Escapes each character of `special` with a $. */
static void put_escaped(FILE *out, const char *text, const char *special) {
  for (; *text != '\0'; ++text) {
    if (strchr(special, *text) != NULL) fputc('$', out);
    fputc(*text, out);
  }
}

static void put_variable(FILE *out, const char *name, const char *value) {
  fprintf(out, "%s = ", name);
  put_escaped(out, value, "$");
  fputc('\n', out);
}

static void put_variables(FILE *out, const lampar_ninja_file *facts) {
  put_variable(out, "lampar", facts->tool);
  put_variable(out, "spec", facts->spec);
  put_variable(out, "templates", facts->templates);
  put_variable(out, "nvrtc", facts->nvrtc != NULL ? facts->nvrtc : "");
  fputs("plan_options =", out);
  if (facts->archs != NULL) fprintf(out, " --arch %s", facts->archs);
  if (facts->line_info) fputs(" --lineinfo", out);
  fputs("\nrender_options =", out);
  if (facts->stages != NULL) {
    fputs(" --stages '", out);
    put_escaped(out, facts->stages, "$");
    fputc('\'', out);
  }
  fprintf(out, "\ncompile_options =%s\n\n", facts->line_info ? " --lineinfo" : "");
}

static const char rules[] =
    "rule plan\n"
    "  command = LAMPAR_NVRTC_LIBRARY='$nvrtc' '$lampar' build '$spec' -o .. --templates "
    "'$templates'"
    " $plan_options --prepare\n"
    "  description = plan $spec\n"
    "  generator = 1\n"
    "  restat = 1\n"
    "\n"
    "rule render\n"
    "  command = '$lampar' render plan.json $name -o $out --depfile $out.d --templates "
    "'$templates' $render_options\n"
    "  description = render $name\n"
    "  depfile = $out.d\n"
    "  deps = gcc\n"
    "  restat = 1\n"
    "\n"
    "rule compile\n"
    "  command = LAMPAR_NVRTC_LIBRARY='$nvrtc' '$lampar' compile $in --arch $arch -o $out"
    " $compile_options\n"
    "  description = compile $in\n"
    "  restat = 1\n"
    "\n"
    "rule pack\n"
    "  command = '$lampar' pack plan.json --cubins cubin --compiler compiler.json -o $pack"
    " --manifest manifest.json\n"
    "  description = pack $pack\n"
    "  restat = 1\n";

static void put_plan_edge(FILE *out, const lampar_ninja_file *facts) {
  fputs("\n# Another spec, tool or compiler regenerates these files, and rebuilds what depends on "
        "them.\n"
        "build build.ninja plan.json compiler.json: plan |",
        out);
  for (size_t i = 0; i < facts->spec_files.count; ++i) {
    fputs(" $\n    ", out);
    put_escaped(out, facts->spec_files.paths[i], "$ :");
  }
  fprintf(out, " $\n    $lampar%s\n", facts->nvrtc != NULL ? " $nvrtc" : "");
}

static void put_kernel_edges(FILE *out, const lampar_variant *variant) {
  char name[LAMPAR_NAME_BYTES];
  lampar_variant_name(variant, name);
  fprintf(out,
          "\nbuild src/%s.cu: render plan.json | $lampar\n"
          "  name = %s\n"
          "build cubin/%s.cubin: compile src/%s.cu | compiler.json\n"
          "  arch = %s\n",
          name, name, name, name, lampar_arch_name(variant->arch));
}

static void put_pack_edge(FILE *out, const lampar_plan *plan) {
  fprintf(out, "\nbuild %s.pack manifest.json: pack plan.json", plan->name);
  for (size_t i = 0; i < plan->variant_count; ++i) {
    char name[LAMPAR_NAME_BYTES];
    lampar_variant_name(&plan->variants[i], name);
    fprintf(out, " $\n    cubin/%s.cubin", name);
  }
  fprintf(out,
          " $\n    | compiler.json $lampar\n"
          "  pack = %s.pack\n"
          "\ndefault %s.pack\n",
          plan->name, plan->name);
}

lampar_status lampar_ninja_file_make(const lampar_plan *plan, const lampar_ninja_file *facts,
                                     char **text) {
  *text = NULL;
  LAMPAR_TRY(check_paths(facts));
  size_t size;
  FILE *const out = open_memstream(text, &size);
  if (out == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for build.ninja");
  fprintf(out,
          "# The %zu kernels of the pack %s. Written by lampar %s; run by `lampar build`, or by "
          "`ninja` in\n"
          "# this folder. `ninja -t commands` prints every command.\n"
          "ninja_required_version = 1.10\n\n",
          plan->variant_count, plan->name, lampar_version());
  put_variables(out, facts);
  fputs(rules, out);
  put_plan_edge(out, facts);
  for (size_t i = 0; i < plan->variant_count; ++i) put_kernel_edges(out, &plan->variants[i]);
  put_pack_edge(out, plan);
  const bool failed = ferror(out);
  if (fclose(out) == 0 && !failed) return LAMPAR_OK;
  free(*text);
  *text = NULL;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for build.ninja");
}
