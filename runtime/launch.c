#include "launch.h"

#include "error.h"

static bool is_aligned(const void *pointer) {
  return (uintptr_t)pointer % LAMPAR_VECTOR_BYTES == 0;
}

void lampar_arguments_take_call(lampar_arguments *arguments, const lampar_call *call,
                                const lampar_variant *variant) {
  const uint64_t element = lampar_dtype_bytes(variant->dtype);
  arguments->input = call->input;
  arguments->output = call->output;
  arguments->input_stride = call->input_stride != 0 ? call->input_stride : call->row_length;
  arguments->output_stride = call->output_stride != 0 ? call->output_stride : call->row_length;
  arguments->row_length = call->row_length;
  arguments->elements = call->rows * call->row_length;
  arguments->mailboxes = (uint32_t)lampar_variant_mailboxes(variant, call->rows, call->row_length);

  /* Local to this rank: the kernel's path for odd addresses uses the same mailboxes. */
  bool whole = is_aligned(call->input) && is_aligned(call->output);
  if (call->rows > 1) {
    if (variant->hidden > 0)
      whole = whole && arguments->input_stride * element % LAMPAR_VECTOR_BYTES == 0 &&
              arguments->output_stride * element % LAMPAR_VECTOR_BYTES == 0;
    else
      whole = whole && arguments->input_stride == call->row_length &&
              arguments->output_stride == call->row_length;
  }
  arguments->vectors = whole;
}

lampar_status lampar_launch(const lampar_driver *driver, const lampar_kernel *kernel,
                            lampar_arguments *arguments, bool programmatic,
                            struct CUstream_st *stream) {
  const lampar_variant *variant = &kernel->record->variant;
  const uint32_t warps = variant->threads / 32;
  uint32_t blocks = (arguments->mailboxes + warps - 1) / warps;
  if (variant->looping && blocks > kernel->resident_blocks) blocks = kernel->resident_blocks;
  lampar_launch_attribute attribute = {
      .id = LAMPAR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION,
      .value = {.programmatic_stream_serialization_allowed = 1},
  };
  const lampar_launch_config config = {
      .grid_x = blocks,
      .grid_y = 1,
      .grid_z = 1,
      .block_x = variant->threads,
      .block_y = 1,
      .block_z = 1,
      .stream = stream,
      .attributes = &attribute,
      .attribute_count = programmatic && variant->trigger != LAMPAR_TRIGGER_OFF,
  };
  const int result = driver->launch(&config, kernel->function, (void *[]){arguments}, NULL);
  if (result == LAMPAR_CUDA_SUCCESS) return LAMPAR_OK;
  return lampar_driver_check(driver, result, kernel->record->name);
}
