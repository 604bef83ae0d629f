/* Opens the pack that was built with the program. */
#include <lampar/lampar.h>
#include <stdio.h>

int main(int argc, char **argv) {
  lampar_pack *pack = NULL;
  if (argc < 2 || lampar_pack_open(argv[1], &pack) != LAMPAR_OK) {
    fprintf(stderr, "%s\n", lampar_last_error());
    return 1;
  }
  const size_t count = lampar_pack_count(pack);
  printf("%zu kernels of %s, lampar %s\n", count, lampar_pack_name(pack), lampar_version());
  lampar_pack_close(pack);
  return count > 0 ? 0 : 1;
}
