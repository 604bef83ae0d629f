#include "verify/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pack/dtype.h"
#include "verify/reference.h"
#include "verify/trial_image.h"

/* Where a call's input and output are on one rank; bytes into the image, strides in elements. */
typedef struct placement {
  size_t input, output;
  uint64_t input_stride, output_stride;
} placement;

struct lampar_trial {
  lampar_trial_image image;
  const lampar_trial_call *calls;
  size_t count;
  placement *places; /* [capacity] */
  size_t capacity;
  const lampar_samples *samples[LAMPAR_TRIAL_DTYPES];
};

struct lampar_trials {
  lampar_ranks *ranks;
  int count;
  lampar_trial trial[LAMPAR_WORLD_MAX];
};

static size_t element_bytes(const lampar_trial_call *call) {
  return lampar_dtype_bytes(call->dtype);
}

/* Bytes of rows with a stride; the last row has nothing behind it. */
static size_t block_bytes(const lampar_trial_call *call, uint64_t stride) {
  return (size_t)((call->rows - 1) * stride + call->hidden) * element_bytes(call);
}

static size_t align(size_t offset) {
  return (offset + LAMPAR_TRIAL_ALIGNMENT - 1) / LAMPAR_TRIAL_ALIGNMENT * LAMPAR_TRIAL_ALIGNMENT;
}

/* Places one block behind `*cursor` and moves the cursor behind its guard. */
static size_t place_block(const lampar_trial_call *call, uint32_t shift, uint64_t stride,
                          size_t *cursor) {
  const size_t vector = LAMPAR_VECTOR_BYTES / element_bytes(call);
  const size_t offset =
      align(*cursor + LAMPAR_TRIAL_GUARD_BYTES) + shift % vector * element_bytes(call);
  *cursor = offset + block_bytes(call, stride) + LAMPAR_TRIAL_GUARD_BYTES;
  return offset;
}

static placement place(const lampar_trial_call *call, int rank, int world, const placement *before,
                       size_t *cursor) {
  const uint32_t shift = (uint32_t)rank * call->rank_shift;
  placement p;
  p.input_stride = call->hidden + call->gap + (uint64_t)rank * call->rank_gap;
  p.output_stride = call->hidden + call->gap + (uint64_t)(world - 1 - rank) * call->rank_gap;
  if (call->chained) {
    p.input = before->output;
    p.input_stride = before->output_stride;
  } else {
    p.input = place_block(call, call->input_shift + shift, p.input_stride, cursor);
  }
  if (call->in_place) {
    p.output = p.input;
    p.output_stride = p.input_stride;
  } else {
    p.output = place_block(call, call->output_shift + 3 * shift, p.output_stride, cursor);
  }
  return p;
}

/* Bytes that a call takes on any rank: all ranks must cut a list of calls into the same batches. */
static size_t room(const lampar_trial_call *call) {
  const uint64_t stride = call->hidden + call->gap + (uint64_t)LAMPAR_WORLD_MAX * call->rank_gap;
  return 2 *
         (block_bytes(call, stride) + 2 * LAMPAR_TRIAL_GUARD_BYTES + 2 * LAMPAR_TRIAL_ALIGNMENT);
}

size_t lampar_trial_fit(const lampar_trial *trial, const lampar_trial_call *calls, size_t count) {
  size_t fitting = 0, sum = 0;
  while (fitting < count && fitting < LAMPAR_TRIAL_BATCH_CALLS &&
         sum + room(&calls[fitting]) <= trial->image.bytes)
    sum += room(&calls[fitting++]);
  return fitting;
}

/* A row of the call in an array of its samples. */
static const char *sample(const lampar_trial_call *call, const void *array, uint64_t row) {
  return (const char *)array + (call->first + row * call->hidden) * element_bytes(call);
}

lampar_status lampar_trial_prepare(lampar_trial *trial, lampar_trial_samples samples,
                                   const lampar_trial_call *calls, size_t count) {
  const lampar_rank *rank = trial->image.rank;
  if (count > trial->capacity) {
    placement *places = realloc(trial->places, count * sizeof *places);
    if (places == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
    trial->places = places;
    trial->capacity = count;
  }
  trial->calls = calls;
  trial->count = count;
  for (int i = 0; i < LAMPAR_TRIAL_DTYPES; ++i) trial->samples[i] = samples[i];

  if (calls[0].chained)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch cannot begin in the middle of a chain");
  size_t cursor = 0;
  for (size_t i = 0; i < count; ++i)
    trial->places[i] =
        place(&calls[i], rank->rank, rank->world, i > 0 ? &trial->places[i - 1] : NULL, &cursor);
  trial->image.used = cursor;
  if (trial->image.used > trial->image.bytes)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a batch of %zu bytes does not fit into %zu",
                       trial->image.used, trial->image.bytes);

  memset(trial->image.host, LAMPAR_TRIAL_GUARD_VALUE, trial->image.used);
  for (size_t i = 0; i < count; ++i) {
    const lampar_trial_call *call = &calls[i];
    if (call->chained) continue;
    const lampar_samples *s = trial->samples[call->dtype];
    if (s == NULL || s->world != rank->world || call->first + call->rows * call->hidden > s->count)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu goes beyond its samples", i);
    const size_t bytes = element_bytes(call);
    for (uint64_t row = 0; row < call->rows; ++row)
      memcpy(trial->image.host + trial->places[i].input +
                 row * trial->places[i].input_stride * bytes,
             sample(call, s->input[rank->rank], row), call->hidden * bytes);
  }
  return lampar_trial_image_send(&trial->image);
}

lampar_call lampar_trial_get(const lampar_trial *trial, size_t index) {
  const lampar_trial_call *plan = &trial->calls[index];
  const placement *p = &trial->places[index];
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = (const void *)(uintptr_t)(trial->image.device + p->input);
  call.output = (void *)(uintptr_t)(trial->image.device + p->output);
  call.rows = plan->rows;
  call.hidden = plan->hidden;
  call.input_stride = p->input_stride;
  call.output_stride = p->output_stride;
  call.dtype = (lampar_dtype)plan->dtype;
  call.op = LAMPAR_SUM;
  call.lane = plan->lane;
  return call;
}

lampar_status lampar_trial_enqueue(lampar_trial *trial, size_t index) {
  const lampar_call call = lampar_trial_get(trial, index);
  return lampar_all_reduce(trial->image.rank->group, &call,
                           trial->image.rank->stream[trial->calls[index].stream]);
}

/* Puts the expected rows where the call's output is. `sum` holds a chain's last result and gets
 * this one; it has no gaps between rows. */
static void overlay(lampar_trial *trial, size_t index, char *sum) {
  const lampar_trial_call *call = &trial->calls[index];
  const placement *p = &trial->places[index];
  const size_t row_bytes = call->hidden * element_bytes(call);
  if (call->chained) {
    const void *inputs[LAMPAR_WORLD_MAX];
    for (int rank = 0; rank < trial->image.rank->world; ++rank) inputs[rank] = sum;
    lampar_reference_sum(call->dtype, trial->image.rank->world, inputs, call->rows * call->hidden,
                         sum);
  } else {
    memcpy(sum, sample(call, trial->samples[call->dtype]->expected, 0), call->rows * row_bytes);
  }
  for (uint64_t row = 0; row < call->rows; ++row)
    memcpy(trial->image.host + p->output + row * p->output_stride * element_bytes(call),
           sum + row * row_bytes, row_bytes);
}

/* Some byte differs: says which element of which call. NaNs of other bits are no difference. */
static lampar_status compare_outputs(lampar_trial *trial) {
  for (size_t i = 0; i < trial->count; ++i) {
    const lampar_trial_call *call = &trial->calls[i];
    const placement *p = &trial->places[i];
    for (uint64_t row = 0; row < call->rows; ++row) {
      const size_t at = p->output + row * p->output_stride * element_bytes(call);
      char *expected = trial->image.host + at, *got = trial->image.result + at;
      const size_t element = lampar_reference_difference(call->dtype, expected, got, call->hidden);
      if (element == call->hidden) {
        memcpy(got, expected, call->hidden * element_bytes(call));
        continue;
      }
      const uint32_t e = lampar_element_load(call->dtype, expected, element);
      const uint32_t g = lampar_element_load(call->dtype, got, element);
      return lampar_fail(
          LAMPAR_ERROR_SYSTEM,
          "wrong sum in call %zu of %zu (%s, %llu x %llu elements): row %llu, element "
          "%zu: got 0x%x (%g), expected 0x%x (%g)",
          i, trial->count, lampar_dtype_name(call->dtype), (unsigned long long)call->rows,
          (unsigned long long)call->hidden, (unsigned long long)row, element, g,
          (double)lampar_decode(call->dtype, g), e, (double)lampar_decode(call->dtype, e));
    }
  }
  return LAMPAR_OK;
}

/* All outputs are right: says which byte beside them is not. */
static lampar_status compare_rest(const lampar_trial *trial) {
  size_t at = 0;
  while (at < trial->image.used && trial->image.host[at] == trial->image.result[at]) ++at;
  if (at == trial->image.used) return LAMPAR_OK;
  size_t call = 0;
  while (call + 1 < trial->count && trial->places[call + 1].input <= at) ++call;
  return lampar_fail(
      LAMPAR_ERROR_SYSTEM,
      "byte %zu of the image changed from 0x%02x to 0x%02x; it belongs to no output. "
      "Near call %zu: input at %zu, output at %zu",
      at, (unsigned char)trial->image.host[at], (unsigned char)trial->image.result[at], call,
      trial->places[call].input, trial->places[call].output);
}

lampar_status lampar_trial_check(lampar_trial *trial) {
  LAMPAR_TRY(lampar_trial_image_fetch(&trial->image));

  size_t largest = 0;
  for (size_t i = 0; i < trial->count; ++i) {
    const size_t bytes =
        (size_t)(trial->calls[i].rows * trial->calls[i].hidden) * element_bytes(&trial->calls[i]);
    if (bytes > largest) largest = bytes;
  }
  char *sum = malloc(largest);
  if (sum != NULL)
    for (size_t i = 0; i < trial->count; ++i) overlay(trial, i, sum);
  free(sum);

  LAMPAR_TRY(lampar_trial_image_wait(&trial->image));
  if (sum == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  if (memcmp(trial->image.host, trial->image.result, trial->image.used) == 0) return LAMPAR_OK;
  LAMPAR_TRY(compare_outputs(trial));
  return compare_rest(trial);
}

lampar_status lampar_trial_batch(lampar_trial *trial, lampar_trial_samples samples,
                                 const lampar_trial_call *calls, size_t count) {
  LAMPAR_TRY(lampar_trial_prepare(trial, samples, calls, count));
  LAMPAR_TRY(lampar_rank_barrier(trial->image.rank));
  for (size_t i = 0; i < count; ++i) LAMPAR_TRY(lampar_trial_enqueue(trial, i));
  LAMPAR_TRY(lampar_rank_barrier(trial->image.rank));
  return lampar_trial_check(trial);
}

lampar_status lampar_trials_create(lampar_ranks *ranks, size_t bytes, lampar_trials **result) {
  lampar_trials *trials = calloc(1, sizeof *trials);
  if (trials == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  trials->ranks = ranks;
  lampar_status status = LAMPAR_OK;
  while (status == LAMPAR_OK && trials->count < lampar_ranks_count(ranks)) {
    const int i = trials->count++;
    status = lampar_trial_image_open(&trials->trial[i].image, lampar_ranks_at(ranks, i), bytes);
  }
  if (status != LAMPAR_OK) {
    lampar_trials_destroy(trials);
    return status;
  }
  *result = trials;
  return LAMPAR_OK;
}

void lampar_trials_destroy(lampar_trials *trials) {
  if (trials == NULL) return;
  for (int i = 0; i < trials->count; ++i) {
    lampar_trial_image_close(&trials->trial[i].image);
    free(trials->trial[i].places);
  }
  free(trials);
}

lampar_trial *lampar_trials_get(lampar_trials *trials, const lampar_rank *rank) {
  for (int i = 0; i < trials->count; ++i)
    if (trials->trial[i].image.rank == rank) return &trials->trial[i];
  return NULL;
}

typedef struct list {
  lampar_trials *trials;
  lampar_trial_samples samples;
  const lampar_trial_call *calls;
  size_t count;
} list;

static lampar_status run_list(lampar_rank *rank, void *user) {
  const list *all = user;
  lampar_trial *trial = lampar_trials_get(all->trials, rank);
  for (size_t done = 0; done < all->count;) {
    const size_t count = lampar_trial_fit(trial, all->calls + done, all->count - done);
    if (count == 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "call %zu is larger than the image of %zu bytes",
                         done, trial->image.bytes);
    LAMPAR_TRY(lampar_trial_batch(trial, all->samples, all->calls + done, count));
    done += count;
  }
  return LAMPAR_OK;
}

lampar_status lampar_trials_run(lampar_trials *trials, lampar_trial_samples samples,
                                const lampar_trial_call *calls, size_t count) {
  list all = {trials, samples, calls, count};
  return lampar_ranks_run(trials->ranks, run_list, &all);
}
