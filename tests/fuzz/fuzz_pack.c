/* A pack whose digest is right and whose bytes are not. The input is a list of edits, four bytes
 * each: where (2 bytes), what is done, a value. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "lampar/lampar.h"
#include "pack/pack_read.h"
#include "pack_fixture.h"

#define KEY   .arch = 90, .algorithm = LAMPAR_ONESHOT, .world = 2, .dtype = LAMPAR_BF16
#define SHAPE .cluster = 1, .vectors_per_warp = 1, .trigger = 1, .watchdog_ms = 1000
static const lampar_variant kernels[] = {
    {KEY, SHAPE, .persistent = 1, .max_bytes = 1 << 20, .threads = 256},
    {KEY, SHAPE, .hidden = 2048, .max_rows = 4, .max_bytes = 4 * 2048 * 2, .threads = 256,
     .epilogue = "residual", .operand_count = 1,
     .operands = {{.name = "residual", .dtype = LAMPAR_BF16}}},
};
enum { COUNT = sizeof kernels / sizeof kernels[0] };

enum edit { SET, FLIP, WIDE, CUT, EDITS };

static void apply(uint8_t *bytes, size_t *size, const uint8_t edit[4]) {
  const size_t at = (size_t)(edit[0] | edit[1] << 8) % *size;
  switch ((enum edit)(edit[2] % EDITS)) {
  case FLIP: bytes[at] ^= edit[3]; break;
  case WIDE: memset(bytes + at, edit[3], *size - at < 8 ? *size - at : 8); break;
  case CUT:
    if (at < sizeof(lampar_pack_header)) return;
    *size = at;
    ((lampar_pack_header *)bytes)->file_bytes = at;
    break;
  default: bytes[at] = edit[3];
  }
}

static volatile uint8_t sum; /* what is read must not be optimised away */

/* Everything that a reader of a pack may ask for. */
static void walk(const lampar_pack *pack) {
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    lampar_kernel_info info = {.size = sizeof info};
    if (lampar_pack_info(pack, i, &info) != LAMPAR_OK || strlen(info.name) >= LAMPAR_NAME_BYTES)
      abort();
    for (size_t k = 0; k < info.code_size; ++k) sum += ((const uint8_t *)info.code)[k];
    for (size_t k = 0; k < info.operand_count; ++k) sum += (uint8_t)strlen(info.operands[k]->name);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t pack_size;
  uint8_t *fixture = pack_fixture(kernels, COUNT, &pack_size);
  for (size_t i = 0; i + 4 <= size; i += 4) apply(fixture, &pack_size, data + i);
  /* In memory of just this size, so that a read beyond it is found. */
  uint8_t *bytes = malloc(pack_size);
  memcpy(bytes, fixture, pack_size);
  free(fixture);
  pack_fixture_seal(bytes, pack_size);
  lampar_pack *pack;
  if (lampar_pack_open_memory(bytes, pack_size, "fuzz.pack", &pack) == LAMPAR_OK) {
    ++fuzz_accepted;
    walk(pack);
    lampar_pack_close(pack);
  }
  free(bytes);
  return 0;
}
