#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/batch_state.h"
#include "verify/epilogue_check.h"
#include "verify/epilogue_layout.h"
#include "verify/reference.h"

size_t lampar_batch_item(const lampar_batch *batch, size_t index, int block, uint64_t row,
                         uint64_t item) {
  const lampar_variant *variant = &batch->variant[index];
  const lampar_operand_info info = lampar_block_info(variant, block);
  const lampar_block *b = &batch->layout[index].block[block];
  return b->offset + (size_t)lampar_operand_item(variant, &info, row, item, b->stride) *
                         lampar_dtype_bytes(info.dtype);
}

uint64_t lampar_batch_run_length(const lampar_operand_info *info, uint64_t items) {
  return info->granularity == LAMPAR_GRANULARITY_ELEMENT ? items : 1;
}

static size_t row_bytes(const lampar_batch *batch, size_t index) {
  const lampar_variant *variant = &batch->variant[index];
  return variant->hidden * lampar_dtype_bytes(variant->dtype);
}

static size_t first_byte(const lampar_batch *batch, size_t index) {
  const lampar_check_call *call = &batch->calls[index];
  const lampar_variant *variant = &batch->variant[index];
  return (size_t)(call->first + call->first_row * variant->hidden) *
         lampar_dtype_bytes(variant->dtype);
}

/* Writes the expected rows of a plain call to its output. `sum` has the result of the call before,
 * for a chained one, and gets this one's, without gaps between rows. */
static void expect_plain(const lampar_batch *batch, size_t index, char *sum) {
  const lampar_check_call *call = &batch->calls[index];
  const int world = batch->buffer.rank->world;
  const size_t bytes = row_bytes(batch, index);
  if (call->chained) {
    const void *inputs[LAMPAR_WORLD_MAX];
    for (int rank = 0; rank < world; ++rank) inputs[rank] = sum;
    lampar_reference_sum(call->dtype, world, inputs, call->rows * call->hidden, sum);
  } else {
    const char *expected = batch->data->plain[call->dtype]->expected;
    memcpy(sum, expected + first_byte(batch, index), call->rows * bytes);
  }
  for (uint64_t row = 0; row < call->rows; ++row)
    memcpy(batch->buffer.host + lampar_batch_item(batch, index, LAMPAR_BLOCK_OUTPUT, row, 0),
           sum + row * bytes, bytes);
}

/* Takes what the call gave for its expected outputs. */
static void accept_outputs(const lampar_batch *batch, size_t index) {
  const lampar_variant *variant = &batch->variant[index];
  for (int i = 0; i < LAMPAR_BLOCKS; ++i) {
    if (!lampar_block_is_output(variant, i)) continue;
    const lampar_operand_info info = lampar_block_info(variant, i);
    const uint64_t items = lampar_operand_row_items(variant, &info);
    const uint64_t run = lampar_batch_run_length(&info, items);
    for (uint64_t row = 0; row < batch->calls[index].rows; ++row)
      for (uint64_t item = 0; item < items; item += run) {
        const size_t at = lampar_batch_item(batch, index, i, row, item);
        memcpy(batch->buffer.host + at, batch->buffer.result + at,
               run * lampar_dtype_bytes(info.dtype));
      }
  }
}

/* Compares the outputs of a fused call; those that are right become the expected ones. */
static lampar_status check_fused(const lampar_batch *batch, size_t index) {
  const lampar_epilogue_samples *s = batch->data->fused;
  lampar_finished_call finished = {.variant = &s->variant,
                                   .rows = batch->calls[index].rows,
                                   .own_stages = batch->data->own_stages};
  for (uint32_t rank = 0; rank < s->variant.world; ++rank)
    finished.input[rank] = (const char *)s->inputs.input[rank] + first_byte(batch, index);
  for (int i = 0; i < LAMPAR_BLOCKS; ++i) {
    if (i == LAMPAR_BLOCK_INPUT || !lampar_block_exists(&s->variant, i)) continue;
    const lampar_block *b = &batch->layout[index].block[i];
    const lampar_operand_memory memory = {batch->buffer.host + b->offset,
                                          batch->buffer.result + b->offset, b->stride};
    if (i == LAMPAR_BLOCK_OUTPUT) finished.output = memory;
    else finished.operand[i] = memory;
  }
  memcpy(finished.value, s->value, sizeof finished.value);
  return lampar_epilogue_check(&finished);
}

/* Writes all outputs as they must be to the host's buffer. */
static lampar_status expect_outputs(const lampar_batch *batch) {
  size_t largest = 1;
  for (size_t i = 0; i < batch->count; ++i) {
    const size_t bytes = (size_t)batch->calls[i].rows * row_bytes(batch, i);
    if (bytes > largest) largest = bytes;
  }
  char *const sum = malloc(largest);
  lampar_status status =
      sum != NULL ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  for (size_t i = 0; i < batch->count && status == LAMPAR_OK; ++i)
    if (batch->data->fused == NULL) expect_plain(batch, i, sum);
    else if (batch->data->accepts_any) accept_outputs(batch, i);
    else status = check_fused(batch, i);
  free(sum);
  return status;
}

/* NaNs of other bits are no difference. */
static lampar_status compare_plain(const lampar_batch *batch, size_t index) {
  const lampar_check_call *call = &batch->calls[index];
  for (uint64_t row = 0; row < call->rows; ++row) {
    const size_t at = lampar_batch_item(batch, index, LAMPAR_BLOCK_OUTPUT, row, 0);
    const char *expected = batch->buffer.host + at;
    char *got = batch->buffer.result + at;
    const size_t element = lampar_reference_difference(call->dtype, expected, got, call->hidden);
    if (element == call->hidden) {
      memcpy(got, expected, row_bytes(batch, index));
      continue;
    }
    const uint32_t e = lampar_element_load(call->dtype, expected, element);
    const uint32_t g = lampar_element_load(call->dtype, got, element);
    return lampar_fail(LAMPAR_ERROR_MISMATCH,
                       "wrong sum in call %zu of %zu (%s, %llu x %llu elements): row %llu, element "
                       "%zu: got 0x%x (%g), expected 0x%x (%g)",
                       index, batch->count, lampar_dtype_name(call->dtype),
                       (unsigned long long)call->rows, (unsigned long long)call->hidden,
                       (unsigned long long)row, element, g, (double)lampar_decode(call->dtype, g),
                       e, (double)lampar_decode(call->dtype, e));
  }
  return LAMPAR_OK;
}

static const char *block_name(const lampar_variant *variant, int block) {
  return block == LAMPAR_BLOCK_INPUT    ? "input"
         : block == LAMPAR_BLOCK_OUTPUT ? "output"
                                        : variant->operands[block].name;
}

/* All outputs are right: every other byte must be unchanged. */
static lampar_status compare_rest(const lampar_batch *batch) {
  const lampar_check_buffer *buffer = &batch->buffer;
  size_t at = 0, call = 0, distance = SIZE_MAX;
  int nearest = LAMPAR_BLOCK_INPUT;
  while (at < buffer->used && buffer->host[at] == buffer->result[at]) ++at;
  if (at == buffer->used) return LAMPAR_OK;
  for (size_t c = 0; c < batch->count; ++c)
    for (int i = 0; i < LAMPAR_BLOCKS; ++i) {
      const lampar_block *b = &batch->layout[c].block[i];
      if (b->bytes == 0) continue;
      const size_t end = b->offset + b->bytes;
      const size_t away = at < b->offset ? b->offset - at : at >= end ? at - end + 1 : 0;
      if (away >= distance) continue;
      distance = away;
      call = c;
      nearest = i;
    }
  const char *epilogue = batch->variant[call].epilogue;
  return lampar_fail(
      LAMPAR_ERROR_MISMATCH,
      "%s%sbyte %zu of the buffer changed from 0x%02x to 0x%02x, but it belongs to no "
      "output; it is %zu bytes from the %s of call %zu (%llu rows)",
      epilogue, epilogue[0] != '\0' ? ": " : "", at, (unsigned char)buffer->host[at],
      (unsigned char)buffer->result[at], distance, block_name(&batch->variant[call], nearest), call,
      (unsigned long long)batch->calls[call].rows);
}

lampar_status lampar_batch_compare(lampar_batch *batch) {
  lampar_check_buffer *buffer = &batch->buffer;
  LAMPAR_TRY(lampar_check_buffer_download(buffer));
  LAMPAR_TRY(lampar_check_buffer_wait(buffer));
  LAMPAR_TRY(expect_outputs(batch));
  if (memcmp(buffer->host, buffer->result, buffer->used) == 0) return LAMPAR_OK;
  for (size_t i = 0; i < batch->count && batch->data->fused == NULL; ++i)
    LAMPAR_TRY(compare_plain(batch, i));
  return compare_rest(batch);
}
