#include "groups.h"

#include <string.h>

#include "base/error.h"

lampar_status expect(bool is_so, const char *what) {
  if (is_so) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "not so: %s (%s)", what, lampar_last_error());
}

lampar_status expect_error(lampar_status got, lampar_status status, const char *word) {
  if (got == status && strstr(lampar_last_error(), word) != NULL) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "expected '%s' and '%s': %s, %s",
                     lampar_status_string(status), word, lampar_status_string(got),
                     lampar_last_error());
}

lampar_call call_of(uint64_t rows, uint64_t hidden) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.rows = rows;
  call.hidden = hidden;
  call.dtype = LAMPAR_F32;
  return call;
}

lampar_status expect_reason(lampar_rank *rank, const lampar_call *call, lampar_reason reason) {
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, call, &answer));
  const bool by_kernel = reason == LAMPAR_REASON_NONE;
  if (answer.reason == reason && (answer.kernel != NULL) == by_kernel &&
      answer.path == (by_kernel ? LAMPAR_PATH_KERNEL : LAMPAR_PATH_NCCL) &&
      answer.message[0] != '\0')
    return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "'%s', expected '%s': %s",
                     lampar_reason_string(answer.reason), lampar_reason_string(reason),
                     answer.message);
}
