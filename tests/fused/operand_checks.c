/* Operands that do not match: refused, with a message that names the operand. */
#include <string.h>

#include "base/error.h"
#include "fused.h"
#include "pack/dtype.h"

typedef struct refusal {
  const char *what;
  /* Spoils operand `at` of the call's list, which has room for one more. */
  void (*spoil)(lampar_call *call, lampar_operand *list, uint32_t at);
} refusal;

static void leave_out(lampar_call *call, lampar_operand *list, uint32_t at) {
  list[at] = list[--call->operand_count];
}

static void give_twice(lampar_call *call, lampar_operand *list, uint32_t at) {
  list[call->operand_count++] = list[at];
}

static void misname(lampar_call *call, lampar_operand *list, uint32_t at) {
  (void)call;
  list[at].name = "no_such_operand";
}

static void add_unknown(lampar_call *call, lampar_operand *list, uint32_t at) {
  list[call->operand_count] = list[at];
  list[call->operand_count++].name = "no_such_operand";
}

static void mistype(lampar_call *call, lampar_operand *list, uint32_t at) {
  (void)call;
  list[at].dtype = list[at].dtype == LAMPAR_F32 ? LAMPAR_BF16 : LAMPAR_F32;
}

static void nullify(lampar_call *call, lampar_operand *list, uint32_t at) {
  (void)call;
  list[at].data = NULL;
}

static void misalign(lampar_call *call, lampar_operand *list, uint32_t at) {
  (void)call;
  list[at].data = (char *)list[at].data + 1;
}

static void overlap(lampar_call *call, lampar_operand *list, uint32_t at) {
  list[at].stride = call->hidden - 2;
}

static const refusal of_any[] = {{"is missing", leave_out},
                                 {"is given twice", give_twice},
                                 {"has an unknown name", misname},
                                 {"has an unknown one next to it", add_unknown},
                                 {"has another dtype", mistype}};
static const refusal of_memory[] = {{"is NULL", nullify}};
static const refusal of_wide[] = {{"is not aligned", misalign}};
static const refusal of_rows[] = {{"has rows that overlap", overlap}};

static lampar_status expect_refusal(lampar_rank *rank, const lampar_call *good, const refusal *bad,
                                    uint32_t at) {
  lampar_operand list[LAMPAR_OPERANDS_MAX + 1];
  lampar_call call = *good;
  memcpy(list, good->operands, good->operand_count * sizeof *list);
  call.operands = list;
  const char *name = list[at].name;
  bad->spoil(&call, list, at);
  const lampar_status status = lampar_all_reduce(rank->group, &call, rank->stream[0]);
  if (status != LAMPAR_ERROR_ARGUMENT)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "%s %s: %s, expected an argument error", name,
                       bad->what, lampar_status_string(status));
  if (strstr(lampar_last_error(), name) == NULL &&
      strstr(lampar_last_error(), "no_such_operand") == NULL)
    return lampar_fail(LAMPAR_ERROR_MISMATCH, "%s %s: the message does not name it: %.300s", name,
                       bad->what, lampar_last_error());
  return LAMPAR_OK;
}

static lampar_status expect_refusals(lampar_rank *rank, const lampar_call *call,
                                     const refusal *list, size_t count, uint32_t at) {
  for (size_t i = 0; i < count; ++i) LAMPAR_TRY(expect_refusal(rank, call, &list[i], at));
  return LAMPAR_OK;
}

#define EXPECT(list)                                                                               \
  LAMPAR_TRY(expect_refusals(rank, &call, list, sizeof list / sizeof list[0], at))

static lampar_status refuse_all(lampar_rank *rank, void *user) {
  const fused_run *run = user;
  const lampar_variant *variant = &run->key->variant;
  const lampar_check_call plan = {.rows = run->key->max_rows < 2 ? 1 : 2};
  lampar_batch *batch = lampar_batches_get(run->fixture->batches, rank);
  LAMPAR_TRY(lampar_batch_prepare(batch, run->data, &plan, 1));
  const lampar_call call = lampar_batch_get(batch, 0);
  for (uint32_t at = 0; at < call.operand_count; ++at) {
    const lampar_operand_info *info = &variant->operands[variant->operand_count - 1 - at];
    EXPECT(of_any);
    if (info->granularity == LAMPAR_GRANULARITY_CALL) continue;
    EXPECT(of_memory);
    if (lampar_dtype_bytes(info->dtype) > 1) EXPECT(of_wide);
    if (info->granularity == LAMPAR_GRANULARITY_ELEMENT && plan.rows > 1) EXPECT(of_rows);
  }
  return LAMPAR_OK;
}

lampar_status check_fused_operands(fused_fixture *fixture, fused_key *key) {
  lampar_epilogue_samples samples;
  LAMPAR_TRY(fused_samples(fixture, key, 0, &samples));
  const lampar_batch_data data = {.fused = &samples};
  fused_run run = {fixture, key, 0, &data, "operands", false};
  const lampar_status status = lampar_ranks_run(fixture->ranks, refuse_all, &run);
  lampar_epilogue_samples_destroy(&samples);
  return status;
}
