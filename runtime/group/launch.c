#include "group/launch.h"

#include "base/error.h"
#include "pack/dtype.h"
#include "pack/operands.h"

static bool is_aligned(const void *pointer) {
  return (uintptr_t)pointer % LAMPAR_VECTOR_BYTES == 0;
}

/* Warp-wide vectors of the message: what the warps of a kernel share out. */
static uint32_t message_mailboxes(const lampar_variant *variant, const lampar_call *call) {
  if (variant->hidden > 0) return (uint32_t)(call->rows * lampar_variant_row_mailboxes(variant));
  return (uint32_t)lampar_variant_mailboxes(variant, call->rows, call->hidden);
}

lampar_status lampar_arguments_fill_from_call(lampar_arguments *arguments, const lampar_call *call,
                                              const lampar_variant *variant) {
  const uint64_t element = lampar_dtype_bytes(variant->dtype);
  arguments->input = call->input;
  arguments->output = call->output;
  arguments->input_stride = call->input_stride != 0 ? call->input_stride : call->hidden;
  arguments->output_stride = call->output_stride != 0 ? call->output_stride : call->hidden;
  arguments->hidden = call->hidden;
  arguments->elements = call->rows * call->hidden;
  arguments->mailboxes = message_mailboxes(variant, call);

  /* Local to this rank: the kernel's path for odd addresses uses the same mailboxes. */
  bool whole = is_aligned(call->input) && is_aligned(call->output);
  if (call->rows > 1) {
    if (variant->hidden > 0)
      whole = whole && arguments->input_stride * element % LAMPAR_VECTOR_BYTES == 0 &&
              arguments->output_stride * element % LAMPAR_VECTOR_BYTES == 0;
    else
      whole = whole && arguments->input_stride == call->hidden &&
              arguments->output_stride == call->hidden;
  }
  arguments->is_vectorized = whole;
  uint64_t *operands = arguments->tail + (variant->world > 1 ? variant->world : 0);
  return lampar_operands_fill_from_call(variant, call, operands, &arguments->is_vectorized);
}

/* What a kernel hands out: rows to clusters when it has an epilogue, else mailboxes to blocks. */
static uint32_t units(const lampar_variant *variant, const lampar_arguments *arguments) {
  if (variant->epilogue[0] != '\0')
    return arguments->mailboxes / (uint32_t)lampar_variant_row_mailboxes(variant);
  const uint32_t warps = variant->threads / 32;
  return (arguments->mailboxes + warps - 1) / warps;
}

bool lampar_launch_fits(const lampar_kernel *kernel, const lampar_arguments *arguments) {
  return units(&kernel->record->variant, arguments) <= kernel->resident;
}

lampar_status lampar_launch(const lampar_driver *driver, const lampar_kernel *kernel,
                            lampar_arguments *arguments, bool programmatic,
                            struct CUstream_st *stream) {
  const lampar_variant *variant = &kernel->record->variant;
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
  return lampar_driver_check(driver, result, kernel->record->name);
}
