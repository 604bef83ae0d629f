#include "emulator/exec/store_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/exec/random.h"
#include "emulator/exec/require.h"

static unsigned filter_bit(uintptr_t word) {
  return (unsigned)((word >> 4) * 0x9e3779b1u >> 7) % 512;
}

static bool may_hold(const uint64_t filter[8], uintptr_t word) {
  const unsigned bit = filter_bit(word);
  return filter[bit / 64] >> (bit % 64) & 1;
}

static void filter_add(uint64_t filter[8], uintptr_t word) {
  const unsigned bit = filter_bit(word);
  filter[bit / 64] |= 1ull << (bit % 64);
}

static void append(emu_store_buffer *buffer, emu_pending_word entry) {
  if (buffer->count == buffer->capacity) {
    buffer->capacity = buffer->capacity ? 2 * buffer->capacity : 64;
    buffer->entries = require(realloc(buffer->entries, buffer->capacity * sizeof *buffer->entries));
  }
  buffer->entries[buffer->count++] = entry;
  filter_add(buffer->filter, entry.word);
}

void buffer_store(emu_store_buffer *buffer, unsigned lane, uintptr_t to, const void *value,
                  size_t bytes) {
  const char *from = value;
  while (bytes > 0) {
    const size_t at = to % 4, part = bytes < 4 - at ? bytes : 4 - at;
    emu_pending_word entry = {.word = to - at, .lane = (uint8_t)lane};
    memcpy((char *)&entry.value + at, from, part);
    entry.bytes = (uint8_t)(((1u << part) - 1) << at);
    append(buffer, entry);
    to += part;
    from += part;
    bytes -= part;
  }
}

void buffer_load(const emu_store_buffer *buffer, unsigned lane, uintptr_t from, void *value,
                 size_t bytes) {
  /* Other processes write here too: whole words are read as words. */
  if (from % 4 == 0 && bytes % 4 == 0)
    for (size_t i = 0; i < bytes; i += 4) {
      const uint32_t word = __atomic_load_n((const uint32_t *)(from + i), __ATOMIC_RELAXED);
      memcpy((char *)value + i, &word, 4);
    }
  else memcpy(value, (const void *)from, bytes);
  if (!may_hold(buffer->filter, from)) return; /* 16 bytes are aligned: one bit speaks for them */
  for (size_t i = 0; i < buffer->count; ++i) {
    const emu_pending_word *entry = &buffer->entries[i];
    if (entry->word + 4 <= from || entry->word >= from + bytes) continue;
    if (entry->lane != lane && i >= buffer->shown) continue;
    for (size_t byte = 0; byte < 4; ++byte) {
      const uintptr_t at = entry->word + byte;
      if ((entry->bytes >> byte & 1) && at >= from && at < from + bytes)
        ((char *)value)[at - from] = ((const char *)&entry->value)[byte];
    }
  }
}

void buffer_show(emu_store_buffer *buffer) {
  buffer->shown = buffer->count;
}

static void perform(const emu_pending_word *entry, void (*changed)(uintptr_t word)) {
  if (entry->bytes == 15) {
    __atomic_store_n((uint32_t *)entry->word, entry->value, __ATOMIC_RELAXED);
  } else {
    for (unsigned byte = 0; byte < 4; ++byte)
      if (entry->bytes >> byte & 1)
        ((volatile char *)entry->word)[byte] = ((const char *)&entry->value)[byte];
  }
  changed(entry->word);
}

static bool holds(const emu_store_buffer *buffer, size_t count, uintptr_t word) {
  for (size_t i = 0; i < count; ++i)
    if (buffer->entries[i].word == word) return true;
  return false;
}

bool buffer_perform(emu_store_buffer *buffer, unsigned eighths, uint64_t *random,
                    void (*changed)(uintptr_t word)) {
  uint64_t filter[8] = {0};
  size_t kept = 0, shown = 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < buffer->count; ++i) {
    if (i % 16 == 0) bits = random_next(random);
    const emu_pending_word entry = buffer->entries[i];
    const bool chosen = (bits & 7) < eighths;
    bits >>= 4;
    /* A later store to a word does not overtake an earlier one that stays. */
    if (chosen && !(may_hold(filter, entry.word) && holds(buffer, kept, entry.word))) {
      perform(&entry, changed);
      continue;
    }
    if (i < buffer->shown) shown = kept + 1;
    filter_add(filter, entry.word);
    buffer->entries[kept++] = entry;
  }
  const bool performed = kept < buffer->count;
  buffer->count = kept;
  buffer->shown = shown;
  memcpy(buffer->filter, filter, sizeof filter);
  return performed;
}

void buffer_hand_over(emu_store_buffer *to, emu_store_buffer *from) {
  for (size_t i = 0; i < from->count; ++i) append(to, from->entries[i]);
  from->count = from->shown = 0;
}

void buffer_release(emu_store_buffer *buffer) {
  free(buffer->entries);
  memset(buffer, 0, sizeof *buffer);
}
