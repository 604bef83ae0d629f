#include "verify/batch_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/batch_state.h"
#include "verify/epilogue_layout.h"

struct lampar_batches {
  lampar_ranks *ranks;
  int count;
  lampar_batch batch[LAMPAR_WORLD_MAX];
};

static lampar_variant variant_of(const lampar_batch_data *data, const lampar_check_call *call,
                                 int world) {
  if (data->fused != NULL) return data->fused->variant;
  return (lampar_variant){
      .world = (uint32_t)world, .dtype = call->dtype, .hidden = (uint32_t)call->hidden};
}

static const lampar_samples *inputs_of(const lampar_batch_data *data,
                                       const lampar_check_call *call) {
  return data->fused != NULL ? &data->fused->inputs : data->plain[call->dtype];
}

size_t lampar_batch_fit(const lampar_batch *batch, const lampar_batch_data *data,
                        const lampar_check_call *calls, size_t count) {
  size_t fitting = 0, sum = 0;
  while (fitting < count && fitting < LAMPAR_BATCH_CALLS) {
    const lampar_variant variant = variant_of(data, &calls[fitting], batch->buffer.rank->world);
    sum += lampar_layout_bytes(&variant, &calls[fitting]);
    if (sum > batch->buffer.bytes) break;
    ++fitting;
  }
  return fitting;
}

static lampar_status check_call(const lampar_batch *batch, size_t index) {
  const lampar_check_call *call = &batch->calls[index];
  const lampar_variant *variant = &batch->variant[index];
  const lampar_samples *s = inputs_of(batch->data, call);
  if (call->chained && (index == 0 || batch->data->fused != NULL))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu of a batch cannot continue a chain", index);
  const uint64_t end = call->first + (call->first_row + call->rows) * variant->hidden;
  const int world = batch->data->fused != NULL || s == NULL ? (int)variant->world : s->world;
  if (s == NULL || world != batch->buffer.rank->world || end > s->count)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu exceeds its samples", index);
  return LAMPAR_OK;
}

static const char *input_sample(const lampar_batch *batch, size_t index, int rank) {
  const lampar_check_call *call = &batch->calls[index];
  const lampar_samples *s = inputs_of(batch->data, call);
  const uint64_t first = call->first + call->first_row * batch->variant[index].hidden;
  return (const char *)s->input[rank] + first * lampar_dtype_bytes(s->dtype);
}

/* Copies the samples of an input into its block. */
static void fill(const lampar_batch *batch, size_t index, int i) {
  const lampar_variant *variant = &batch->variant[index];
  const lampar_check_call *call = &batch->calls[index];
  const lampar_block *block = &batch->layout[index].block[i];
  const lampar_operand_info info = lampar_block_info(variant, i);
  const uint64_t items = lampar_operand_row_items(variant, &info);
  const size_t row_bytes = (size_t)items * lampar_dtype_bytes(info.dtype);
  char *const target = batch->buffer.host + block->offset;
  const char *source = NULL;
  if (i == LAMPAR_BLOCK_INPUT) source = input_sample(batch, index, batch->buffer.rank->rank);
  else source = (const char *)batch->data->fused->operand[i] + call->first_row * row_bytes;
  if (items == 0) memcpy(target, source, block->bytes);
  for (uint64_t row = 0; items > 0 && row < call->rows; ++row)
    memcpy(batch->buffer.host + lampar_batch_item(batch, index, i, row, 0),
           source + row * row_bytes, row_bytes);
}

static void fill_inputs(const lampar_batch *batch, size_t index) {
  for (int i = 0; i < LAMPAR_BLOCKS; ++i) {
    const bool is_input = lampar_block_exists(&batch->variant[index], i) &&
                          !lampar_block_is_output(&batch->variant[index], i);
    if (is_input && !(batch->calls[index].chained && i == LAMPAR_BLOCK_INPUT))
      fill(batch, index, i);
  }
}

lampar_status lampar_batch_prepare(lampar_batch *batch, const lampar_batch_data *data,
                                   const lampar_check_call *calls, size_t count) {
  lampar_check_buffer *buffer = &batch->buffer;
  if (count > LAMPAR_BATCH_CALLS)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch of %zu calls (at most %d)", count,
                       LAMPAR_BATCH_CALLS);
  batch->data = data;
  batch->calls = calls;
  batch->count = count;
  buffer->used = 0;
  for (size_t i = 0; i < count; ++i) {
    batch->variant[i] = variant_of(data, &calls[i], buffer->rank->world);
    LAMPAR_TRY(check_call(batch, i));
    lampar_layout_make(&batch->variant[i], &calls[i], buffer->rank->rank,
                       i > 0 ? &batch->layout[i - 1] : NULL, &batch->layout[i], &buffer->used);
  }
  if (buffer->used > buffer->bytes)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch of %zu bytes does not fit into %zu",
                       buffer->used, buffer->bytes);
  memset(buffer->host, LAMPAR_GUARD_VALUE, buffer->used);
  for (size_t i = 0; i < count; ++i) fill_inputs(batch, i);
  return lampar_check_buffer_upload(buffer);
}

static void *address(const lampar_batch *batch, const lampar_block *block) {
  return (void *)(uintptr_t)(batch->buffer.device + block->offset);
}

/* In reverse order, as a call may give them in any. */
static void fill_operands(lampar_batch *batch, size_t index) {
  const lampar_variant *variant = &batch->variant[index];
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    const lampar_operand_info *info = &variant->operands[i];
    const lampar_block *block = &batch->layout[index].block[i];
    const uint64_t usual = lampar_operand_stride(variant, info, batch->calls[index].rows);
    lampar_operand *operand = &batch->operands[variant->operand_count - 1 - i];
    *operand = (lampar_operand){
        .name = info->name,
        .data = info->granularity == LAMPAR_GRANULARITY_CALL ? NULL : address(batch, block),
        .stride = block->stride != usual ? block->stride : 0,
        .dtype = (lampar_dtype)info->dtype,
        .value = batch->data->fused->value[i],
    };
  }
}

lampar_call lampar_batch_get(lampar_batch *batch, size_t index) {
  const lampar_variant *variant = &batch->variant[index];
  const lampar_check_call *plan = &batch->calls[index];
  const lampar_block *input = &batch->layout[index].block[LAMPAR_BLOCK_INPUT];
  const lampar_block *output = &batch->layout[index].block[LAMPAR_BLOCK_OUTPUT];
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = address(batch, input);
  if (output->bytes > 0) call.output = address(batch, output);
  call.rows = plan->rows;
  call.hidden = variant->hidden;
  call.input_stride = input->stride;
  call.output_stride = output->stride;
  call.dtype = (lampar_dtype)variant->dtype;
  call.op = LAMPAR_SUM;
  call.lane = plan->lane;
  if (batch->data->fused == NULL) return call;
  fill_operands(batch, index);
  call.rounding = (lampar_rounding)variant->rounding;
  call.epilogue = batch->data->fused->variant.epilogue;
  call.operands = batch->operands;
  call.operand_count = variant->operand_count;
  return call;
}

lampar_status lampar_batch_enqueue(lampar_batch *batch, size_t index) {
  const lampar_rank *rank = batch->buffer.rank;
  const lampar_call call = lampar_batch_get(batch, index);
  return lampar_all_reduce(rank->group, &call, rank->stream[batch->calls[index].stream]);
}

lampar_status lampar_batch_run(lampar_batch *batch, const lampar_batch_data *data,
                               const lampar_check_call *calls, size_t count) {
  LAMPAR_TRY(lampar_batch_prepare(batch, data, calls, count));
  LAMPAR_TRY(lampar_rank_barrier(batch->buffer.rank));
  for (size_t i = 0; i < count; ++i) LAMPAR_TRY(lampar_batch_enqueue(batch, i));
  LAMPAR_TRY(lampar_rank_barrier(batch->buffer.rank));
  return lampar_batch_compare(batch);
}

static lampar_status open_batch(lampar_rank *rank, size_t bytes, lampar_batch *batch) {
  LAMPAR_TRY(lampar_check_buffer_open(&batch->buffer, rank, bytes));
  batch->row = malloc(LAMPAR_BATCH_ROW_BYTES);
  return batch->row != NULL ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
}

lampar_status lampar_batches_create(lampar_ranks *ranks, size_t bytes, lampar_batches **result) {
  lampar_batches *batches = calloc(1, sizeof *batches);
  if (batches == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  batches->ranks = ranks;
  lampar_status status = LAMPAR_OK;
  while (status == LAMPAR_OK && batches->count < lampar_ranks_count(ranks)) {
    const int i = batches->count++;
    status = open_batch(lampar_ranks_at(ranks, i), bytes, &batches->batch[i]);
  }
  if (status != LAMPAR_OK) {
    lampar_batches_destroy(batches);
    return status;
  }
  *result = batches;
  return LAMPAR_OK;
}

void lampar_batches_destroy(lampar_batches *batches) {
  if (batches == NULL) return;
  for (int i = 0; i < batches->count; ++i) {
    lampar_check_buffer_close(&batches->batch[i].buffer);
    free(batches->batch[i].row);
  }
  free(batches);
}

lampar_batch *lampar_batches_get(lampar_batches *batches, const lampar_rank *rank) {
  for (int i = 0; i < batches->count; ++i)
    if (batches->batch[i].buffer.rank == rank) return &batches->batch[i];
  return NULL;
}

typedef struct list {
  lampar_batches *batches;
  const lampar_batch_data *data;
  const lampar_check_call *calls;
  size_t count;
  lampar_batch_function after;
  void *user;
} list;

static lampar_status run_list(lampar_rank *rank, void *user) {
  const list *all = user;
  lampar_batch *batch = lampar_batches_get(all->batches, rank);
  for (size_t done = 0; done < all->count;) {
    const lampar_check_call *calls = all->calls + done;
    const size_t count = lampar_batch_fit(batch, all->data, calls, all->count - done);
    if (count == 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu does not fit into a buffer of %zu bytes",
                         done, batch->buffer.bytes);
    LAMPAR_TRY(lampar_batch_run(batch, all->data, calls, count));
    if (all->after != NULL) LAMPAR_TRY(all->after(rank, batch, calls, count, all->user));
    done += count;
  }
  return LAMPAR_OK;
}

lampar_status lampar_batches_run(lampar_batches *batches, const lampar_batch_data *data,
                                 const lampar_check_call *calls, size_t count,
                                 lampar_batch_function after, void *user) {
  list all = {batches, data, calls, count, after, user};
  return lampar_ranks_run(batches->ranks, run_list, &all);
}
