#include "pack/select.h"

#include <stdbool.h>
#include <string.h>

#include "pack/dtype.h"

/* The fields by which a call finds its kernels, apart from their limits. */
typedef struct key {
  uint32_t dtype;
  const char *epilogue;
  uint32_t rounding; /* UNFUSED without an epilogue */
  uint64_t hidden;   /* 0: flat */
} key;

static key key_of(const lampar_call *call, uint64_t hidden) {
  const bool fused = call->epilogue != NULL && call->epilogue[0] != '\0';
  return (key){.dtype = call->dtype,
               .epilogue = fused ? call->epilogue : "",
               .rounding = fused ? call->rounding : LAMPAR_ROUNDING_UNFUSED,
               .hidden = hidden};
}

static int compare_numbers(uint64_t a, uint64_t b) {
  return a < b ? -1 : a > b;
}

/* The order of lampar_variant_compare within one arch and world. */
static int compare_key(const lampar_variant *v, const key *k) {
  int order = compare_numbers(v->dtype, k->dtype);
  if (order == 0) order = strncmp(v->epilogue, k->epilogue, sizeof v->epilogue);
  if (order == 0) order = compare_numbers(v->rounding, k->rounding);
  if (order == 0) order = compare_numbers(v->hidden, k->hidden);
  return order;
}

/* The first kernel of the key; its kernels are neighbours, ordered by limit. `count`: none. */
static size_t find_key(const lampar_candidates *candidates, const key *k) {
  size_t low = 0, high = candidates->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (compare_key(candidates->variants[middle], k) < 0) low = middle + 1;
    else high = middle;
  }
  const bool found = low < candidates->count && compare_key(candidates->variants[low], k) == 0;
  return found ? low : candidates->count;
}

/* The first kernel of the key, from `first` on, whose limit the call does not exceed; `count`:
 * none. */
static size_t find_limit(const lampar_candidates *candidates, size_t first, const key *k,
                         const lampar_call *call) {
  const uint64_t bytes = call->rows * call->hidden * lampar_dtype_bytes(call->dtype);
  for (size_t i = first; i < candidates->count && compare_key(candidates->variants[i], k) == 0; ++i)
    if (bytes <= candidates->variants[i]->max_bytes &&
        lampar_variant_mailboxes(candidates->variants[i], call->rows, call->hidden) <=
            candidates->mailboxes)
      return i;
  return candidates->count;
}

static bool has_dtype(const lampar_candidates *candidates, uint32_t dtype) {
  for (size_t i = 0; i < candidates->count; ++i)
    if (candidates->variants[i]->dtype == dtype) return true;
  return false;
}

static bool has_epilogue(const lampar_candidates *candidates, const key *k) {
  for (size_t i = 0; i < candidates->count; ++i) {
    key same = *k;
    same.hidden = candidates->variants[i]->hidden;
    if (compare_key(candidates->variants[i], &same) == 0) return true;
  }
  return false;
}

lampar_selection lampar_select(const lampar_candidates *candidates, const lampar_call *call) {
  if (call->op != LAMPAR_SUM) return (lampar_selection){.reason = LAMPAR_REASON_OP};
  if (!has_dtype(candidates, call->dtype)) return (lampar_selection){.reason = LAMPAR_REASON_DTYPE};

  const key row_key = key_of(call, call->hidden), flat_key = key_of(call, 0);
  const size_t rows = find_key(candidates, &row_key);
  size_t index = find_limit(candidates, rows, &row_key, call);
  if (index < candidates->count) return (lampar_selection){.index = index};

  const size_t flat = find_key(candidates, &flat_key); /* there is none with an epilogue */
  index = find_limit(candidates, flat, &flat_key, call);
  if (index < candidates->count) return (lampar_selection){.index = index};

  if (rows < candidates->count) return (lampar_selection){.reason = LAMPAR_REASON_ROWS};
  if (!has_epilogue(candidates, &row_key))
    return (lampar_selection){.reason = LAMPAR_REASON_EPILOGUE};
  if (flat < candidates->count) return (lampar_selection){.reason = LAMPAR_REASON_BYTES};
  return (lampar_selection){.reason = LAMPAR_REASON_HIDDEN};
}

static bool is_same_key(const lampar_variant *a, const lampar_variant *b) {
  const key k = {
      .dtype = b->dtype, .epilogue = b->epilogue, .rounding = b->rounding, .hidden = b->hidden};
  return compare_key(a, &k) == 0;
}

size_t lampar_select_persistent(const lampar_candidates *candidates, size_t index) {
  const lampar_variant *from = candidates->variants[index];
  for (size_t i = index; i < candidates->count; ++i) {
    const lampar_variant *v = candidates->variants[i];
    if (!is_same_key(v, from)) break;
    if (v->persistent && v->algorithm == from->algorithm && v->alignment <= from->alignment)
      return i;
  }
  return SIZE_MAX;
}

size_t lampar_select_epilogue_only(const lampar_candidates *epilogue_only,
                                   const lampar_call *call) {
  const key k = key_of(call, call->hidden);
  const size_t first = find_key(epilogue_only, &k);
  return first < epilogue_only->count ? lampar_select_persistent(epilogue_only, first) : SIZE_MAX;
}
