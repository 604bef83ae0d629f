#include "lampar/lampar.h"

/* Counted by reason in arrays of that length, and logged once by bits of a 32-bit word. */
_Static_assert((int)LAMPAR_REASON_SETUP_FAILED < (int)LAMPAR_REASONS_MAX &&
                   (int)LAMPAR_REASONS_MAX <= 32,
               "there is room for every reason");

const char *lampar_reason_string(lampar_reason reason) {
  switch (reason) {
  case LAMPAR_REASON_NONE: return "a kernel takes it";
  case LAMPAR_REASON_DISABLED: return "LAMPAR_DISABLE is set";
  case LAMPAR_REASON_NOT_ENABLED: return "the group did not opt in (config.enable)";
  case LAMPAR_REASON_EXPERT_PARALLELISM: return "the group contains expert parallelism";
  case LAMPAR_REASON_RANKS_DISAGREE: return "the ranks' packs, options or versions differ";
  case LAMPAR_REASON_SEVERAL_NODES: return "the ranks are on several nodes";
  case LAMPAR_REASON_NO_PEER_ACCESS: return "two GPUs cannot reach each other's memory";
  case LAMPAR_REASON_NO_NVLINK: return "two GPUs are not linked by NVLink, which the pack requires";
  case LAMPAR_REASON_SELF_TEST: return "the self-test failed";
  case LAMPAR_REASON_ARCH: return "no pack has kernels for this GPU";
  case LAMPAR_REASON_WORLD: return "no pack has kernels for this many ranks";
  case LAMPAR_REASON_DTYPE: return "no kernel for the element type";
  case LAMPAR_REASON_OP: return "no kernel for the reduction, only for sums";
  case LAMPAR_REASON_EPILOGUE: return "no kernel for the epilogue";
  case LAMPAR_REASON_HIDDEN: return "no kernel for the hidden size";
  case LAMPAR_REASON_ROWS: return "more rows than the kernels take";
  case LAMPAR_REASON_BYTES: return "more bytes than the workspace holds";
  case LAMPAR_REASON_SETUP_FAILED: return "set-up failed on some rank";
  }
  return "unknown reason";
}
