#include "group/launch.h"

#include "base/error.h"
#include "pack/dtype.h"
#include "pack/operands.h"
#include "pack/overlap.h"

static bool is_aligned(uint64_t address) {
  return address % LAMPAR_VECTOR_BYTES == 0;
}

/* Whether every 16-byte vector of the buffer is aligned. */
static bool is_buffer_aligned(const lampar_variant *variant, const lampar_call *call,
                              const void *buffer, uint64_t stride) {
  if (!is_aligned((uintptr_t)buffer)) return false;
  if (call->rows == 1) return true;
  return variant->hidden > 0 ? is_aligned(stride * lampar_dtype_bytes(variant->dtype))
                             : stride == call->hidden;
}

static lampar_status refuse_buffer(const lampar_variant *variant, const char *name,
                                   const void *buffer) {
  if (!is_aligned((uintptr_t)buffer))
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "call.%s (%p) is not aligned to %u bytes: align it or build the pack without "
        "alignment = %u",
        name, buffer, variant->alignment, variant->alignment);
  if (variant->hidden > 0)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "call.%s_stride is not a multiple of %u bytes: align it or build the pack "
                       "without alignment = %u",
                       name, variant->alignment, variant->alignment);
  return lampar_fail(
      LAMPAR_ERROR_ARGUMENT,
      "call.%s_stride leaves gaps between rows, which the flat kernel of a pack with "
      "alignment = %u does not take: give rows without gaps or build the pack without "
      "alignment = %u",
      name, variant->alignment, variant->alignment);
}

/* Rejects what a kernel without a path for odd addresses cannot read. An error, and never a
 * fallback: addresses differ between ranks, but all ranks must take the same path. */
static lampar_status check_alignment(const lampar_variant *variant, const lampar_call *call,
                                     const lampar_arguments *arguments) {
  if (!is_buffer_aligned(variant, call, call->input, arguments->input_stride))
    return refuse_buffer(variant, "input", call->input);
  if (!is_buffer_aligned(variant, call, call->output, arguments->output_stride))
    return refuse_buffer(variant, "output", call->output);
  const uint64_t bytes = arguments->elements * lampar_dtype_bytes(variant->dtype);
  if (is_aligned(bytes)) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "call: a message of %llu bytes is not a multiple of %u: pad it or build the "
                     "pack without alignment = %u",
                     (unsigned long long)bytes, variant->alignment, variant->alignment);
}

/* The warp-wide vectors of the message, which are divided among the warps of the grid. */
static uint32_t message_mailboxes(const lampar_variant *variant, const lampar_call *call) {
  if (variant->hidden > 0) return (uint32_t)(call->rows * lampar_variant_row_mailboxes(variant));
  return (uint32_t)lampar_variant_mailboxes(variant, call->rows, call->hidden);
}

lampar_status lampar_arguments_fill_from_call(lampar_arguments *arguments, const lampar_call *call,
                                              const lampar_variant *variant) {
  arguments->input = call->input;
  arguments->output = call->output;
  arguments->input_stride = call->input_stride != 0 ? call->input_stride : call->hidden;
  arguments->output_stride = call->output_stride != 0 ? call->output_stride : call->hidden;
  arguments->hidden = call->hidden;
  arguments->elements = call->rows * call->hidden;
  arguments->mailboxes = message_mailboxes(variant, call);

  /* May differ between ranks: the kernel's path for odd addresses uses the same mailboxes. */
  arguments->is_vectorized =
      is_buffer_aligned(variant, call, call->input, arguments->input_stride) &&
      is_buffer_aligned(variant, call, call->output, arguments->output_stride);
  if (variant->alignment > 0) LAMPAR_TRY(check_alignment(variant, call, arguments));
  uint64_t *operands = arguments->tail + (variant->world > 1 ? variant->world : 0);
  LAMPAR_TRY(lampar_operands_fill_from_call(variant, call, operands, &arguments->is_vectorized));
  return lampar_overlap_check(call, variant, operands);
}

/* Units of work: one row per cluster for fused kernels, otherwise one mailbox per warp of a block.
 */
static uint32_t units(const lampar_variant *variant, const lampar_arguments *arguments) {
  if (variant->epilogue[0] != '\0')
    return arguments->mailboxes / (uint32_t)lampar_variant_row_mailboxes(variant);
  const uint32_t warps = variant->threads / 32;
  return (arguments->mailboxes + warps - 1) / warps;
}

bool lampar_launch_fits(const lampar_kernel *kernel, const lampar_arguments *arguments) {
  return units(&kernel->packed->variant, arguments) <= kernel->resident;
}

lampar_status lampar_launch(const lampar_driver *driver, const lampar_kernel *kernel,
                            lampar_arguments *arguments, bool programmatic,
                            struct CUstream_st *stream) {
  const lampar_variant *variant = &kernel->packed->variant;
  uint32_t count = units(variant, arguments);
  if (variant->persistent && count > kernel->resident) count = kernel->resident;
  lampar_launch_attribute attributes[2];
  lampar_launch_config config = {
      .grid_x = count * variant->cluster,
      .grid_y = 1,
      .grid_z = 1,
      .block_x = variant->threads,
      .block_y = 1,
      .block_z = 1,
      .stream = stream,
      .attributes = attributes,
  };
  if (programmatic && variant->trigger != LAMPAR_TRIGGER_OFF)
    attributes[config.attribute_count++] = (lampar_launch_attribute){
        .id = LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value = {.programmatic_stream_serialization_allowed = 1},
    };
  if (variant->cluster > 1)
    attributes[config.attribute_count++] = lampar_cluster_attribute(variant->cluster);
  const int result = driver->launch(&config, kernel->function, (void *[]){arguments}, NULL);
  if (result == LAMPAR_CUDA_SUCCESS) return LAMPAR_OK;
  return lampar_driver_check(driver, result, kernel->packed->record->name);
}
