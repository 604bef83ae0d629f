/* One call: check it, choose a kernel, launch that or call NCCL. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "group/fallback.h"
#include "group/group_state.h"
#include "pack/dtype.h"
#include "pack/enum_names.h"
#include "pack/operands.h"
#include "pack/overlap.h"

static lampar_status check_shape(const lampar_call *call) {
  uint64_t elements, bytes;
  if (lampar_dtype_bytes(call->dtype) == 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.dtype %d is not a lampar_dtype",
                       (int)call->dtype);
  if (lampar_rounding_name(call->rounding) == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.rounding %d is not a lampar_rounding",
                       (int)call->rounding);
  if (lampar_nccl_op(call->op) < 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.op %d is not a lampar_op", (int)call->op);
  if (__builtin_mul_overflow(call->rows, call->hidden, &elements) ||
      __builtin_mul_overflow(elements, lampar_dtype_bytes(call->dtype), &bytes) ||
      bytes > INT64_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call: %llu rows of %llu elements are too many",
                       (unsigned long long)call->rows, (unsigned long long)call->hidden);
  return LAMPAR_OK;
}

static lampar_status check_stride(const char *name, uint64_t stride, const lampar_call *call) {
  if (stride == 0 || call->rows == 1 || stride >= call->hidden) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "call.%s %llu is less than a row of %llu elements: rows "
                     "would overlap",
                     name, (unsigned long long)stride, (unsigned long long)call->hidden);
}

static lampar_status check_buffers(const lampar_group *group, const lampar_call *call) {
  const size_t element = lampar_dtype_bytes(call->dtype);
  if (call->input == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.input is NULL");
  if (call->operand_count > 0 && call->operands == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.operands is NULL, call.operand_count is %u",
                       call->operand_count);
  if ((uintptr_t)call->input % element != 0 || (uintptr_t)call->output % element != 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.%s is not aligned to its %zu-byte elements",
                       (uintptr_t)call->input % element != 0 ? "input" : "output", element);
  if (call->lane >= group->config.lanes)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.lane is %u, the group has %u", call->lane,
                       group->config.lanes);
  LAMPAR_TRY(check_stride("input_stride", call->input_stride, call));
  return check_stride("output_stride", call->output_stride, call);
}

static lampar_selection choose(const lampar_group *group, const lampar_call *call) {
  if (group->verdict.reason != LAMPAR_REASON_NONE)
    return (lampar_selection){.reason = group->verdict.reason};
  return lampar_select(&group->candidates, call);
}

/* Explains a reason with the call's own numbers. */
static void describe(const lampar_group *group, const lampar_call *call, lampar_reason reason,
                     char *message, size_t size) {
  const unsigned long long rows = call->rows, length = call->hidden;
  size_t used;
  switch (reason) {
  case LAMPAR_REASON_DTYPE:
  case LAMPAR_REASON_EPILOGUE:
  case LAMPAR_REASON_HIDDEN:
  case LAMPAR_REASON_ROWS:
  case LAMPAR_REASON_BYTES:
    snprintf(message, size,
             "%llu x %llu %s: %s; the group has %zu kernels%s%s and %llu mailboxes a lane", rows,
             length, lampar_dtype_name(call->dtype), lampar_reason_string(reason),
             group->kernels.count, group->names[0] != '\0' ? " with names like " : "", group->names,
             (unsigned long long)group->workspace.mailboxes);
    break;
  default:
    used = (size_t)snprintf(message, size, "%s%s", lampar_reason_string(reason),
                            group->verdict.reason != LAMPAR_REASON_NONE ? ": " : "");
    snprintf(message + used, size - used, "%.*s", (int)(size - used) - 1, group->verdict.message);
  }
}

static bool is_fused(const lampar_call *call) {
  return call->epilogue != NULL && call->epilogue[0] != '\0';
}

/* Fills this kernel's arguments from the call. */
static lampar_status fill_arguments(const lampar_call *call, const lampar_variant *variant,
                                    lampar_arguments *arguments) {
  if (call->output == NULL && !lampar_operands_hold_result(variant))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.output is NULL");
  return lampar_arguments_fill_from_call(arguments, call, variant);
}

/* One line a call, for LAMPAR_DEBUG=trace alone: a caller's log function does not get it. */
static void trace(const lampar_group *group, const lampar_call *call, const lampar_kernel *kernel) {
  if (group->logger.level < LAMPAR_LOG_TRACE) return;
  const lampar_variant *v = &kernel->packed->variant;
  lampar_log(&group->logger, LAMPAR_LOG_TRACE, "%llu x %llu %s: %s (%s, %s, cluster %u%s%s)",
             (unsigned long long)call->rows, (unsigned long long)call->hidden,
             lampar_dtype_name(call->dtype), kernel->packed->record->name,
             lampar_algorithm_name(v->algorithm), v->persistent ? "persistent" : "single-pass",
             v->cluster, is_fused(call) ? ", rounding " : "",
             is_fused(call) ? lampar_rounding_name(v->rounding) : "");
}

static lampar_status run_kernel(lampar_group *group, const lampar_call *call, size_t index,
                                struct CUstream_st *stream) {
  const lampar_kernel *kernel = &group->kernels.list[index];
  lampar_arguments arguments = group->arguments[call->lane];
  LAMPAR_TRY(fill_arguments(call, &kernel->packed->variant, &arguments));

  /* All blocks of all ranks on a device must be resident at once, because they wait for each other.
   * Both kernels use the same mailboxes, so each rank may decide this alone. */
  if (!kernel->packed->variant.persistent && !lampar_launch_fits(kernel, &arguments)) {
    const size_t persistent = lampar_select_persistent(&group->candidates, index);
    if (persistent == SIZE_MAX)
      return lampar_fail(
          LAMPAR_ERROR_NO_KERNEL,
          "%s: its blocks do not fit on this GPU at once, and there is no persistent "
          "kernel to take its place; LAMPAR_KERNEL leaves kernels like %s",
          kernel->packed->record->name, group->names);
    index = persistent;
    kernel = &group->kernels.list[index];
  }
  arguments.kernel = (uint32_t)index;
  uint64_t bound = kernel->packed->variant.watchdog_ms;
  if (group->config.watchdog_ms > 0 && group->config.watchdog_ms < bound)
    bound = group->config.watchdog_ms;
  arguments.watchdog_ns = bound * 1000000;

  LAMPAR_TRY(lampar_lane_enter(&group->lanes[call->lane], &group->driver, stream));
  LAMPAR_TRY(lampar_launch(&group->driver, kernel, &arguments,
                           group->config.programmatic_launch != 0, stream));
  const uint64_t bytes = call->rows * call->hidden * lampar_dtype_bytes(call->dtype);
  atomic_fetch_add_explicit(&group->kernel_calls, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&group->kernel_bytes, bytes, memory_order_relaxed);
  trace(group, call, kernel);
  return LAMPAR_OK;
}

/* The kernel that applies the epilogue to an existing sum; NULL, with the error set, if there is
 * none.
 */
static const lampar_kernel *find_epilogue_only(const lampar_group *group, const lampar_call *call) {
  const size_t index = lampar_select_epilogue_only(&group->epilogue_only_candidates, call);
  if (index != SIZE_MAX) return &group->epilogue_only.list[index];
  lampar_fail(
      LAMPAR_ERROR_NO_KERNEL,
      "no pack has epilogue %s for rows of %llu %s, and NCCL has none at all: add it to the "
      "spec",
      call->epilogue, (unsigned long long)call->hidden, lampar_dtype_name(call->dtype));
  return NULL;
}

static lampar_status run_epilogue_only(const lampar_group *group, const lampar_kernel *kernel,
                                       const lampar_call *call, struct CUstream_st *stream) {
  lampar_arguments arguments = {0};
  LAMPAR_TRY(fill_arguments(call, &kernel->packed->variant, &arguments));
  LAMPAR_TRY(lampar_launch(&group->driver, kernel, &arguments,
                           group->config.programmatic_launch != 0, stream));
  trace(group, call, kernel);
  return LAMPAR_OK;
}

/* The sum by NCCL, then the epilogue's kernel. */
static lampar_status run_nccl_and_epilogue(const lampar_group *group, const lampar_call *call,
                                           struct CUstream_st *stream) {
  const lampar_kernel *kernel = find_epilogue_only(group, call);
  if (kernel == NULL) return LAMPAR_ERROR_NO_KERNEL;
  lampar_arguments checked = {0};
  LAMPAR_TRY(fill_arguments(call, &kernel->packed->variant,
                            &checked)); /* fail before anything is enqueued */
  lampar_device_pointer sum;
  LAMPAR_TRY(lampar_fallback_sum(&group->driver, &group->nccl, group->comm, call, &sum, stream));
  lampar_call rest = *call;
  rest.input = (const void *)(uintptr_t)sum;
  rest.input_stride = 0;
  const lampar_status status = run_epilogue_only(group, kernel, &rest, stream);
  const lampar_status released = lampar_fallback_release(&group->driver, sum, stream);
  return status != LAMPAR_OK ? status : released;
}

static lampar_status run_nccl(lampar_group *group, const lampar_call *call, lampar_reason reason,
                              struct CUstream_st *stream) {
  const bool refused = group->config.strict || group->comm == NULL;
  const bool first = !(group->logged & 1u << reason);
  char message[LAMPAR_MESSAGE_BYTES];
  if (refused || first) describe(group, call, reason, message, sizeof message);
  if (refused)
    return lampar_fail(LAMPAR_ERROR_NO_KERNEL, "%s, and %s", message,
                       group->config.strict ? "the group is strict"
                                            : "it has no NCCL communicator");
  if (first) lampar_log(&group->logger, LAMPAR_LOG_INFO, "a call goes to NCCL: %s", message);
  group->logged |= 1u << reason;
  if (is_fused(call)) {
    LAMPAR_TRY(run_nccl_and_epilogue(group, call, stream));
  } else {
    if (call->output == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call.output is NULL");
    LAMPAR_TRY(lampar_overlap_check(call, NULL, NULL));
    LAMPAR_TRY(lampar_fallback(&group->driver, &group->nccl, group->comm, call, stream));
  }
  const uint64_t bytes = call->rows * call->hidden * lampar_dtype_bytes(call->dtype);
  atomic_fetch_add_explicit(&group->nccl_calls[reason], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&group->nccl_bytes, bytes, memory_order_relaxed);
  return LAMPAR_OK;
}

lampar_status lampar_all_reduce(lampar_group *group, const lampar_call *given,
                                struct CUstream_st *stream) {
  if (group == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_all_reduce: group is NULL");
  lampar_call call = LAMPAR_CALL_INIT;
  LAMPAR_TRY(lampar_sized_read(&call, sizeof call, given, "lampar_call"));
  LAMPAR_TRY(check_shape(&call));
  if (call.rows == 0 || call.hidden == 0) return LAMPAR_OK;
  LAMPAR_TRY(check_buffers(group, &call));
  LAMPAR_TRY(lampar_group_error(group, NULL));
  const lampar_selection selection = choose(group, &call);
  if (selection.reason == LAMPAR_REASON_NONE)
    return run_kernel(group, &call, selection.index, stream);
  if (group->world == 1 && is_fused(&call)) {
    const lampar_kernel *kernel = find_epilogue_only(group, &call);
    return kernel != NULL ? run_epilogue_only(group, kernel, &call, stream)
                          : LAMPAR_ERROR_NO_KERNEL;
  }
  return run_nccl(group, &call, selection.reason, stream);
}

lampar_status lampar_query(lampar_group *group, const lampar_call *given, lampar_answer *answer) {
  if (group == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_query: group is NULL");
  lampar_call call = LAMPAR_CALL_INIT;
  LAMPAR_TRY(lampar_sized_read(&call, sizeof call, given, "lampar_call"));
  LAMPAR_TRY(check_shape(&call));
  const lampar_selection selection = choose(group, &call);
  lampar_answer found = {.reason = selection.reason, .message = group->message};
  if (selection.reason == LAMPAR_REASON_NONE) {
    found.path = LAMPAR_PATH_KERNEL;
    found.kernel = group->kernels.list[selection.index].packed->record->name;
  } else {
    found.path = LAMPAR_PATH_NCCL;
  }
  describe(group, &call, selection.reason, group->message, sizeof group->message);
  return lampar_sized_write(answer, &found, sizeof found, "lampar_answer");
}
