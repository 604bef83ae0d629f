#include "select.h"

#include <stdbool.h>

/* First of the key's kernels: they are neighbours, ordered by limit. `count` when there is none. */
static size_t find_key(const lampar_candidates *candidates, uint32_t dtype, uint64_t hidden) {
  size_t low = 0, high = candidates->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const lampar_variant *v = candidates->variants[middle];
    if (v->dtype < dtype || (v->dtype == dtype && v->hidden < hidden)) low = middle + 1;
    else high = middle;
  }
  const bool found = low < candidates->count && candidates->variants[low]->dtype == dtype &&
                     candidates->variants[low]->hidden == hidden;
  return found ? low : candidates->count;
}

static bool is_same_key(const lampar_variant *a, const lampar_variant *b) {
  return a->dtype == b->dtype && a->hidden == b->hidden;
}

/* The first kernel from `first` on that takes the call; `count` when none does. */
static size_t find_limit(const lampar_candidates *candidates, size_t first,
                         const lampar_call *call) {
  if (first == candidates->count) return first;
  const lampar_variant *key = candidates->variants[first];
  const uint64_t bytes = call->rows * call->row_length * lampar_dtype_bytes(call->dtype);
  if (lampar_variant_mailboxes(key, call->rows, call->row_length) > candidates->mailboxes)
    return candidates->count;
  for (size_t i = first; i < candidates->count && is_same_key(key, candidates->variants[i]); ++i)
    if (bytes <= candidates->variants[i]->bytes_limit) return i;
  return candidates->count;
}

static bool has_dtype(const lampar_candidates *candidates, uint32_t dtype) {
  for (size_t i = 0; i < candidates->count; ++i)
    if (candidates->variants[i]->dtype == dtype) return true;
  return false;
}

lampar_selection lampar_select(const lampar_candidates *candidates, const lampar_call *call) {
  if (call->op != LAMPAR_SUM) return (lampar_selection){.reason = LAMPAR_REASON_OP};
  if (!has_dtype(candidates, call->dtype)) return (lampar_selection){.reason = LAMPAR_REASON_DTYPE};

  const size_t rows = find_key(candidates, call->dtype, call->row_length);
  size_t index = find_limit(candidates, rows, call);
  if (index < candidates->count) return (lampar_selection){.index = index};

  const size_t flat = find_key(candidates, call->dtype, 0);
  index = find_limit(candidates, flat, call);
  if (index < candidates->count) return (lampar_selection){.index = index};

  if (rows < candidates->count) return (lampar_selection){.reason = LAMPAR_REASON_ROWS};
  if (flat < candidates->count) return (lampar_selection){.reason = LAMPAR_REASON_BYTES};
  return (lampar_selection){.reason = LAMPAR_REASON_ROW_LENGTH};
}

size_t lampar_select_looping(const lampar_candidates *candidates, size_t index) {
  const lampar_variant *key = candidates->variants[index];
  for (size_t i = index; i < candidates->count && is_same_key(key, candidates->variants[i]); ++i)
    if (candidates->variants[i]->looping) return i;
  return SIZE_MAX;
}
