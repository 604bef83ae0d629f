#include "verify/epilogue_trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/epilogue_layout.h"
#include "verify/reference.h"
#include "verify/trial_image.h"

enum {
  ROW_BYTES = 1 << 20, /* more than the outputs of a row have */
  INPUT = LAMPAR_OPERANDS_MAX,
  OUTPUT,
  BLOCKS,
};

/* A piece of the image: an operand by its index, or INPUT or OUTPUT. */
typedef struct block {
  size_t offset, bytes; /* no bytes: the call has none */
  uint64_t stride;      /* elements */
} block;

typedef struct placement {
  block block[BLOCKS];
} placement;

struct lampar_epilogue_trial {
  lampar_trial_image image;
  const lampar_epilogue_samples *samples;
  const lampar_epilogue_call *calls;
  size_t count;
  placement place[LAMPAR_TRIAL_BATCH_CALLS];
  lampar_operand operands[LAMPAR_OPERANDS_MAX]; /* of the call that was asked for last */
  char *row;                                    /* outputs of a row, one after the other */
};

struct lampar_epilogue_trials {
  int count;
  lampar_epilogue_trial trial[LAMPAR_WORLD_MAX];
};

/* Input and output are as an operand per element. */
static lampar_operand_info info_of(const lampar_variant *variant, int index) {
  if (index < LAMPAR_OPERANDS_MAX) return variant->operands[index];
  return (lampar_operand_info){
      .name = "", .dtype = variant->dtype, .granularity = LAMPAR_GRANULARITY_ELEMENT};
}

static bool has_block(const lampar_variant *variant, int index) {
  if (index == INPUT) return true;
  if (index == OUTPUT) return !lampar_epilogue_quantizes(variant);
  return (uint32_t)index < variant->operand_count &&
         variant->operands[index].granularity != LAMPAR_GRANULARITY_CALL;
}

/* The block that an output shares in place; -1: none. */
static int shared_block(const lampar_variant *variant, const lampar_epilogue_call *call,
                        int index) {
  if (!call->in_place) return -1;
  if (index == OUTPUT) return INPUT;
  if (index < LAMPAR_OPERANDS_MAX && strcmp(variant->operands[index].name, "residual_out") == 0)
    return lampar_variant_operand(variant, "residual");
  return -1;
}

/* Scales in tiles have no stride. */
static uint64_t stride_of(const lampar_variant *variant, const lampar_operand_info *info,
                          const lampar_epilogue_call *call, int rank) {
  const uint64_t stride = lampar_operand_stride(variant, info, call->rows);
  const uint64_t gap = call->gap + (uint64_t)rank * call->rank_gap;
  if (info->granularity == LAMPAR_GRANULARITY_GROUP && info->dtype == LAMPAR_F8E4M3) return stride;
  return info->dtype == LAMPAR_F4E2M1X2 ? stride + 2 * gap : stride + gap;
}

/* Places the call's blocks behind `*cursor`, each between guards. */
static void place(const lampar_variant *variant, const lampar_epilogue_call *call, int rank,
                  placement *p, size_t *cursor) {
  /* Inputs come first: an output may share the place of one. */
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < BLOCKS; ++i) {
      if (pass == 0) p->block[i] = (block){0};
      if (!has_block(variant, i)) continue;
      const int shared = shared_block(variant, call, i);
      if ((shared >= 0) != (pass == 1)) continue;
      if (shared >= 0) {
        p->block[i] = p->block[shared];
        continue;
      }
      const lampar_operand_info info = info_of(variant, i);
      const size_t element = lampar_dtype_bytes(info.dtype);
      const uint64_t stride = stride_of(variant, &info, call, rank);
      const size_t at = (*cursor + LAMPAR_TRIAL_GUARD_BYTES + LAMPAR_TRIAL_ALIGNMENT - 1) /
                        LAMPAR_TRIAL_ALIGNMENT * LAMPAR_TRIAL_ALIGNMENT;
      const size_t shift = call->shift % (LAMPAR_TRIAL_ALIGNMENT / element) * element;
      p->block[i] = (block){
          at + shift, (size_t)lampar_operand_extent(variant, &info, call->rows, stride) * element,
          stride};
      *cursor = p->block[i].offset + p->block[i].bytes + LAMPAR_TRIAL_GUARD_BYTES;
    }
}

size_t lampar_epilogue_call_bytes(const lampar_variant *variant, const lampar_epilogue_call *call) {
  placement p;
  size_t cursor = 0;
  place(variant, call, LAMPAR_WORLD_MAX, &p, &cursor);
  return cursor + LAMPAR_TRIAL_ALIGNMENT;
}

size_t lampar_epilogue_trial_fit(const lampar_epilogue_trial *trial,
                                 const lampar_epilogue_samples *samples,
                                 const lampar_epilogue_call *calls, size_t count) {
  size_t fitting = 0, sum = 0;
  while (fitting < count && fitting < LAMPAR_TRIAL_BATCH_CALLS) {
    sum += lampar_epilogue_call_bytes(&samples->variant, &calls[fitting]);
    if (sum > trial->image.bytes) break;
    ++fitting;
  }
  return fitting;
}

/* What an input holds before the call. */
static void fill(const lampar_epilogue_trial *trial, size_t index, int i) {
  const lampar_epilogue_samples *s = trial->samples;
  const lampar_epilogue_call *call = &trial->calls[index];
  const block *b = &trial->place[index].block[i];
  const lampar_operand_info info = info_of(&s->variant, i);
  const size_t element = lampar_dtype_bytes(info.dtype);
  const char *source = i == INPUT ? s->inputs.input[trial->image.rank->rank] : s->operand[i];
  char *target = trial->image.host + b->offset;
  const uint64_t items = lampar_operand_row_items(&s->variant, &info);
  if (items == 0) {
    memcpy(target, source, b->bytes);
    return;
  }
  for (uint64_t row = 0; row < call->rows; ++row) {
    const size_t at = (size_t)lampar_operand_item(&s->variant, &info, row, 0, b->stride) * element;
    memcpy(target + at, source + (call->first_row + row) * items * element, items * element);
  }
}

lampar_status lampar_epilogue_trial_prepare(lampar_epilogue_trial *trial,
                                            const lampar_epilogue_samples *samples,
                                            const lampar_epilogue_call *calls, size_t count) {
  const lampar_variant *variant = &samples->variant;
  trial->samples = samples;
  trial->calls = calls;
  trial->count = count;
  trial->image.used = 0;
  if (count > LAMPAR_TRIAL_BATCH_CALLS)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch of %zu calls: at most %d", count,
                       LAMPAR_TRIAL_BATCH_CALLS);
  for (size_t c = 0; c < count; ++c) {
    if (calls[c].first_row + calls[c].rows > samples->rows)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu goes beyond its samples", c);
    place(variant, &calls[c], trial->image.rank->rank, &trial->place[c], &trial->image.used);
  }
  if (trial->image.used > trial->image.bytes)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch of %zu bytes does not fit into %zu",
                       trial->image.used, trial->image.bytes);
  memset(trial->image.host, LAMPAR_TRIAL_GUARD_VALUE, trial->image.used);
  for (size_t c = 0; c < count; ++c)
    for (int i = 0; i < BLOCKS; ++i)
      if (has_block(variant, i) && (i == INPUT || (i != OUTPUT && !variant->operands[i].output)))
        fill(trial, c, i);
  return lampar_trial_image_send(&trial->image);
}

lampar_call lampar_epilogue_trial_get(lampar_epilogue_trial *trial, size_t index) {
  const lampar_variant *variant = &trial->samples->variant;
  const lampar_epilogue_call *plan = &trial->calls[index];
  const placement *p = &trial->place[index];
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)(trial->image.device + p->block[INPUT].offset);
  if (has_block(variant, OUTPUT))
    call.output = (void *)(uintptr_t)(trial->image.device + p->block[OUTPUT].offset);
  call.rows = plan->rows;
  call.hidden = variant->hidden;
  call.input_stride = p->block[INPUT].stride;
  call.output_stride = p->block[OUTPUT].stride;
  call.dtype = (lampar_dtype)variant->dtype;
  call.rounding = (lampar_rounding)variant->rounding;
  call.epilogue = variant->epilogue;
  call.operands = trial->operands;
  call.operand_count = variant->operand_count;
  /* In another order than they are declared in. */
  for (uint32_t i = 0; i < variant->operand_count; ++i) {
    const lampar_operand_info *info = &variant->operands[i];
    const block *b = &p->block[i];
    const uint64_t usual = lampar_operand_stride(variant, info, plan->rows);
    trial->operands[variant->operand_count - 1 - i] = (lampar_operand){
        .name = info->name,
        .data = info->granularity == LAMPAR_GRANULARITY_CALL
                    ? NULL
                    : (void *)(uintptr_t)(trial->image.device + b->offset),
        .stride = b->stride != usual ? b->stride : 0,
        .dtype = (lampar_dtype)info->dtype,
        .value = trial->samples->value[i],
    };
  }
  return call;
}

lampar_status lampar_epilogue_trial_enqueue(lampar_epilogue_trial *trial, size_t index) {
  const lampar_call call = lampar_epilogue_trial_get(trial, index);
  return lampar_all_reduce(trial->image.rank->group, &call, trial->image.rank->stream[0]);
}

static bool is_output(const lampar_variant *variant, int index) {
  return has_block(variant, index) &&
         (index == OUTPUT || (index < LAMPAR_OPERANDS_MAX && variant->operands[index].output));
}

/* Byte of the image where an item of a row is. */
static size_t item_at(const lampar_epilogue_trial *trial, size_t index, int i, uint64_t row,
                      uint64_t item) {
  const lampar_operand_info info = info_of(&trial->samples->variant, i);
  const block *b = &trial->place[index].block[i];
  return b->offset +
         (size_t)lampar_operand_item(&trial->samples->variant, &info, row, item, b->stride) *
             lampar_dtype_bytes(info.dtype);
}

/* Items of a row that lie side by side: all elements, but scales one by one. */
static uint64_t run_of(const lampar_operand_info *info, uint64_t items) {
  return info->granularity == LAMPAR_GRANULARITY_ELEMENT ? items : 1;
}

/* Takes over what came back in the elements of outputs. */
static void accept(lampar_epilogue_trial *trial, size_t index) {
  const lampar_variant *variant = &trial->samples->variant;
  for (int i = 0; i < BLOCKS; ++i) {
    if (!is_output(variant, i)) continue;
    const lampar_operand_info info = info_of(variant, i);
    const uint64_t items = lampar_operand_row_items(variant, &info);
    const size_t element = lampar_dtype_bytes(info.dtype);
    const uint64_t run = run_of(&info, items);
    for (uint64_t row = 0; row < trial->calls[index].rows; ++row)
      for (uint64_t item = 0; item < items; item += run) {
        const size_t at = item_at(trial, index, i, row, item);
        memcpy(trial->image.host + at, trial->image.result + at, run * element);
      }
  }
}

static lampar_status check_call(lampar_epilogue_trial *trial, size_t index,
                                const lampar_stage_map *own_stages) {
  const lampar_epilogue_samples *s = trial->samples;
  const lampar_epilogue_call *call = &trial->calls[index];
  const size_t row_bytes = s->variant.hidden * lampar_dtype_bytes(s->variant.dtype);
  lampar_finished_call finished = {
      .variant = &s->variant, .rows = call->rows, .own_stages = own_stages};
  for (uint32_t rank = 0; rank < s->variant.world; ++rank)
    finished.input[rank] = (const char *)s->inputs.input[rank] + call->first_row * row_bytes;
  for (int i = 0; i < BLOCKS; ++i) {
    if (i == INPUT || !has_block(&s->variant, i)) continue;
    const block *b = &trial->place[index].block[i];
    const lampar_operand_memory memory = {trial->image.host + b->offset,
                                          trial->image.result + b->offset, b->stride};
    if (i == OUTPUT) finished.output = memory;
    else finished.operand[i] = memory;
  }
  memcpy(finished.value, s->value, sizeof finished.value);
  return lampar_epilogue_check(&finished);
}

/* The outputs are settled: every other byte is as it was. */
static lampar_status check_rest(const lampar_epilogue_trial *trial) {
  if (memcmp(trial->image.host, trial->image.result, trial->image.used) == 0) return LAMPAR_OK;
  const lampar_variant *variant = &trial->samples->variant;
  size_t at = 0, call = 0;
  while (trial->image.host[at] == trial->image.result[at]) ++at;
  const char *nearest = "";
  size_t distance = SIZE_MAX;
  for (size_t c = 0; c < trial->count; ++c)
    for (int i = 0; i < BLOCKS; ++i) {
      const block *b = &trial->place[c].block[i];
      if (b->bytes == 0) continue;
      const size_t end = b->offset + b->bytes;
      const size_t away = at < b->offset ? b->offset - at : at >= end ? at - end + 1 : 0;
      if (away >= distance) continue;
      distance = away;
      call = c;
      nearest = i == INPUT ? "input" : i == OUTPUT ? "output" : variant->operands[i].name;
    }
  return lampar_fail(LAMPAR_ERROR_SYSTEM,
                     "%s: byte %zu of the image changed from 0x%02x to 0x%02x; it is no element of "
                     "an output. It is %zu bytes from %s of call %zu (%llu rows)",
                     variant->epilogue, at, (unsigned char)trial->image.host[at],
                     (unsigned char)trial->image.result[at], distance, nearest, call,
                     (unsigned long long)trial->calls[call].rows);
}

lampar_status lampar_epilogue_trial_finish(lampar_epilogue_trial *trial, bool check_values,
                                           const lampar_stage_map *own_stages) {
  LAMPAR_TRY(lampar_trial_image_fetch(&trial->image));
  LAMPAR_TRY(lampar_trial_image_wait(&trial->image));
  for (size_t c = 0; c < trial->count; ++c) {
    if (check_values) LAMPAR_TRY(check_call(trial, c, own_stages));
    else accept(trial, c);
  }
  return check_rest(trial);
}

/* NaNs of a dtype in their canonical form. */
static void unify_nans(uint32_t dtype, char *items, uint64_t count) {
  const uint16_t infinity = dtype == LAMPAR_BF16 ? 0x7f80 : 0x7c00;
  uint16_t *const halves = (uint16_t *)items;
  uint32_t *const words = (uint32_t *)items;
  if (!lampar_dtype_has_kernels(dtype)) return;
  for (uint64_t i = 0; i < count; ++i)
    if (dtype == LAMPAR_F32)
      words[i] = (words[i] & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : words[i];
    else halves[i] = (halves[i] & 0x7fff) > infinity ? 0x7fff : halves[i];
}

/* The items of a row's output, one after the other; returns their bytes, rounded up to words. */
static size_t append(const lampar_epilogue_trial *trial, size_t index, uint64_t row, int i,
                     char *items) {
  const lampar_operand_info info = info_of(&trial->samples->variant, i);
  const uint64_t count = lampar_operand_row_items(&trial->samples->variant, &info);
  const size_t element = lampar_dtype_bytes(info.dtype);
  const uint64_t run = run_of(&info, count);
  memset(items + (size_t)count * element / 4 * 4, 0, 4);
  for (uint64_t item = 0; item < count; item += run)
    memcpy(items + item * element, trial->image.result + item_at(trial, index, i, row, item),
           run * element);
  unify_nans(info.dtype, items, count);
  return ((size_t)count * element + 3) / 4 * 4;
}

/* What a quantising stage stores. */
static bool is_quantized(const lampar_variant *variant, int index) {
  return index < LAMPAR_OPERANDS_MAX && (strcmp(variant->operands[index].name, "quantized") == 0 ||
                                         strcmp(variant->operands[index].name, "scale") == 0);
}

void lampar_epilogue_trial_digest(lampar_epilogue_trial *trial, size_t index, uint64_t row,
                                  bool only_quantized, uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  const lampar_variant *variant = &trial->samples->variant;
  size_t used = 0;
  for (int i = 0; i < BLOCKS; ++i)
    if (is_output(variant, i) && (!only_quantized || is_quantized(variant, i)))
      used += append(trial, index, row, i, trial->row + used);
  lampar_digest(trial->row, used, digest);
}

lampar_status lampar_epilogue_trial_batch(lampar_epilogue_trial *trial,
                                          const lampar_epilogue_samples *samples,
                                          const lampar_epilogue_call *calls, size_t count,
                                          bool check_values, const lampar_stage_map *own_stages) {
  LAMPAR_TRY(lampar_epilogue_trial_prepare(trial, samples, calls, count));
  LAMPAR_TRY(lampar_rank_barrier(trial->image.rank));
  for (size_t i = 0; i < count; ++i) LAMPAR_TRY(lampar_epilogue_trial_enqueue(trial, i));
  LAMPAR_TRY(lampar_rank_barrier(trial->image.rank));
  return lampar_epilogue_trial_finish(trial, check_values, own_stages);
}

static lampar_status open_trial(lampar_rank *rank, size_t bytes, lampar_epilogue_trial *trial) {
  LAMPAR_TRY(lampar_trial_image_open(&trial->image, rank, bytes));
  trial->row = malloc(ROW_BYTES);
  return trial->row != NULL ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
}

lampar_status lampar_epilogue_trials_create(lampar_ranks *ranks, size_t bytes,
                                            lampar_epilogue_trials **result) {
  lampar_epilogue_trials *trials = calloc(1, sizeof *trials);
  if (trials == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  lampar_status status = LAMPAR_OK;
  while (status == LAMPAR_OK && trials->count < lampar_ranks_count(ranks)) {
    const int i = trials->count++;
    status = open_trial(lampar_ranks_at(ranks, i), bytes, &trials->trial[i]);
  }
  if (status != LAMPAR_OK) {
    lampar_epilogue_trials_destroy(trials);
    return status;
  }
  *result = trials;
  return LAMPAR_OK;
}

void lampar_epilogue_trials_destroy(lampar_epilogue_trials *trials) {
  if (trials == NULL) return;
  for (int i = 0; i < trials->count; ++i) {
    lampar_trial_image_close(&trials->trial[i].image);
    free(trials->trial[i].row);
  }
  free(trials);
}

lampar_epilogue_trial *lampar_epilogue_trials_get(lampar_epilogue_trials *trials,
                                                  const lampar_rank *rank) {
  for (int i = 0; i < trials->count; ++i)
    if (trials->trial[i].image.rank == rank) return &trials->trial[i];
  return NULL;
}
