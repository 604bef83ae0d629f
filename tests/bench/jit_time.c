/* jit_time SPEC ARCH WORLD: one build at start-up, as an engine of so many ranks makes it; the
 * folder of the cache comes from the environment. Prints milliseconds, kernels, and how many of
 * them were in the cache and how many were compiled. */
#include <stdio.h>
#include <stdlib.h>

#include <lampar/lampar_jit.h>

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: jit_time SPEC ARCH WORLD\n");
    return 2;
  }
  lampar_jit_stats stats = LAMPAR_JIT_STATS_INIT;
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack = NULL;
  options.stats = &stats;
  options.world = atoi(argv[3]);
  if (lampar_jit_build(argv[1], argv[2], &options, &pack) != LAMPAR_OK) {
    fprintf(stderr, "jit_time: %s\n", lampar_last_error());
    return 1;
  }
  printf("%.1f ms %u kernels %u cached %u compiled\n", (double)stats.nanoseconds * 1e-6,
         stats.kernels, stats.cached, stats.compiled);
  lampar_pack_close(pack);
  return 0;
}
