#include "cuda/nccl.h"

#include "base/environment.h"
#include "base/error.h"

lampar_status lampar_nccl_open(lampar_nccl *nccl) {
  bool emulated;
  LAMPAR_TRY(lampar_device_is_emulated(&emulated));
  if (emulated) LAMPAR_TRY(lampar_library_open_emulator(&nccl->library, LAMPAR_ERROR_NCCL));
  else
    LAMPAR_TRY(lampar_library_open(&nccl->library,
                                   lampar_variable_text(LAMPAR_VARIABLE_NCCL_LIBRARY),
                                   "libnccl.so.2", "ncclAllReduce", LAMPAR_ERROR_NCCL));

#define FIND(type, field, symbol, parameters)                                                      \
  {                                                                                                \
    void *address;                                                                                 \
    LAMPAR_TRY(lampar_library_symbol(&nccl->library, #symbol, &address, LAMPAR_ERROR_NCCL));       \
    *(void **)&nccl->field = address;                                                              \
  }
  LAMPAR_NCCL_FUNCTIONS(FIND)
#undef FIND
  return LAMPAR_OK;
}

lampar_status lampar_nccl_check(const lampar_nccl *nccl, int result, const char *what) {
  if (result == LAMPAR_NCCL_SUCCESS) return LAMPAR_OK;
  const char *detail = nccl->last_error(NULL);
  const bool has_detail = detail != NULL && detail[0] != '\0';
  return lampar_fail(LAMPAR_ERROR_NCCL, "%s: %s%s%s", what, nccl->error_string(result),
                     has_detail ? "; " : "", has_detail ? detail : "");
}

int lampar_nccl_dtype(lampar_dtype dtype) {
  static const int numbers[] = {
      [LAMPAR_BF16] = 9, [LAMPAR_F16] = 6, [LAMPAR_F32] = 7,     [LAMPAR_F64] = 8,
      [LAMPAR_I8] = 0,   [LAMPAR_U8] = 1,  [LAMPAR_I32] = 2,     [LAMPAR_U32] = 3,
      [LAMPAR_I64] = 4,  [LAMPAR_U64] = 5, [LAMPAR_F8E4M3] = 10, [LAMPAR_F8E5M2] = 11,
  };
  return (size_t)dtype < sizeof numbers / sizeof numbers[0] ? numbers[dtype] : -1;
}

int lampar_nccl_op(lampar_op op) {
  return op >= LAMPAR_SUM && op <= LAMPAR_AVG ? (int)op : -1;
}
