/* Makes the kernels of a spec at start-up. */
#include <lampar/lampar_jit.h>
#include <stdio.h>

static int print_progress(void *user, uint32_t done, uint32_t total, const char *name) {
  fprintf(user, "[%u/%u] %s\n", (unsigned)done, (unsigned)total, name);
  return 0;
}

int main(int argc, char **argv) {
  lampar_pack *pack = NULL;
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  options.progress = print_progress;
  options.progress_user = stderr;
  if (argc < 2 || lampar_jit_build(argv[1], "emu", &options, &pack) != LAMPAR_OK) {
    fprintf(stderr, "%s\n", lampar_last_error());
    return 1;
  }
  const size_t count = lampar_pack_count(pack);
  printf("%zu kernels of %s\n", count, lampar_pack_name(pack));
  lampar_pack_close(pack);
  return count > 0 ? 0 : 1;
}
