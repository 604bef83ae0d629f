// The same in C++, with the pack owned by a smart pointer.
#include <lampar/lampar_jit.h>

#include <cstdio>
#include <memory>

int main(int argc, char **argv) {
  lampar_pack *made = nullptr;
  lampar_jit_stats stats = LAMPAR_JIT_STATS_INIT;
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  options.stats = &stats;
  if (argc < 2 || lampar_jit_build(argv[1], "emu", &options, &made) != LAMPAR_OK) {
    std::fprintf(stderr, "%s\n", lampar_last_error());
    return 1;
  }
  const std::unique_ptr<lampar_pack, decltype(&lampar_pack_close)> pack(made, lampar_pack_close);
  std::printf("%zu kernels, %u of them compiled\n", lampar_pack_count(pack.get()), stats.compiled);
  return stats.kernels == lampar_pack_count(pack.get()) && stats.kernels > 0 ? 0 : 1;
}
