#include "pack/dtype.h"

#include <string.h>

#include "lampar/lampar.h"

static const struct {
  const char *name;
  size_t bytes;
  bool has_kernels;
} dtypes[] = {
    [LAMPAR_BF16] = {"bf16", 2, true},
    [LAMPAR_F16] = {"f16", 2, true},
    [LAMPAR_F32] = {"f32", 4, true},
    [LAMPAR_F64] = {"f64", 8, false},
    [LAMPAR_I8] = {"i8", 1, false},
    [LAMPAR_U8] = {"u8", 1, false},
    [LAMPAR_I32] = {"i32", 4, false},
    [LAMPAR_U32] = {"u32", 4, false},
    [LAMPAR_I64] = {"i64", 8, false},
    [LAMPAR_U64] = {"u64", 8, false},
    [LAMPAR_F8E4M3] = {"f8e4m3", 1, false},
    [LAMPAR_F8E5M2] = {"f8e5m2", 1, false},
    [LAMPAR_F4E2M1X2] = {"f4e2m1x2", 1, false},
};
enum { DTYPE_COUNT = sizeof dtypes / sizeof dtypes[0] };

size_t lampar_dtype_bytes(uint32_t dtype) {
  return dtype < DTYPE_COUNT ? dtypes[dtype].bytes : 0;
}

size_t lampar_dtype_bits(uint32_t dtype) {
  return dtype == LAMPAR_F4E2M1X2 ? 4 : 8 * lampar_dtype_bytes(dtype);
}

const char *lampar_dtype_name(uint32_t dtype) {
  return dtype < DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

bool lampar_dtype_parse(const char *name, uint32_t *dtype) {
  for (uint32_t i = 0; i < DTYPE_COUNT; ++i) {
    if (strcmp(dtypes[i].name, name) != 0) continue;
    *dtype = i;
    return true;
  }
  return false;
}

bool lampar_dtype_has_kernels(uint32_t dtype) {
  return dtype < DTYPE_COUNT && dtypes[dtype].has_kernels;
}
