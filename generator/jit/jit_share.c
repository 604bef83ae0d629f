#include "jit/jit_share.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = LAMPAR_EXCHANGE_BYTES_MAX };

/* What the ranks have to have in common, but for the compiler. */
typedef struct facts {
  uint64_t count;
  uint8_t keys[LAMPAR_DIGEST_BYTES]; /* of all kernels */
  uint8_t can_compile, reserved[7];
} facts;

/* What a rank has of one kernel; size 0: nothing. */
typedef struct lampar_jit_entry {
  uint64_t size;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  uint8_t build[LAMPAR_DIGEST_BYTES];
} entry;

enum { ENTRIES_MAX = MESSAGE_BYTES / sizeof(entry) };

void lampar_jit_share_close(lampar_jit_share *share) {
  for (size_t r = 0; r < LAMPAR_WORLD_MAX; ++r) free(share->blobs[r].bytes);
  free(share->inventory);
  free(share->messages);
  *share = (lampar_jit_share){0};
}

lampar_status lampar_jit_share_vote(const lampar_jit_share *share, const char *step,
                                    lampar_status own) {
  lampar_failure first;
  LAMPAR_TRY(lampar_channel_vote(share->channel, step, own, &first));
  return lampar_failure_raise(&first);
}

/* ---- who has what ---- */

static lampar_status allocate(lampar_jit_share *share, size_t count) {
  const size_t world = (size_t)share->channel->world;
  share->inventory = calloc(world * count, sizeof *share->inventory);
  share->messages = malloc(world * MESSAGE_BYTES);
  if (share->inventory != NULL && share->messages != NULL) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for %zu kernels of %zu ranks", count,
                     world);
}

static facts facts_of(const lampar_jit_kernels *kernels) {
  facts mine = {.count = kernels->count, .can_compile = kernels->compiler.is_there};
  for (size_t i = 0; i < kernels->count; ++i) {
    const lampar_digest_part parts[] = {{mine.keys, sizeof mine.keys},
                                        {kernels->list[i].key.digest, LAMPAR_DIGEST_BYTES}};
    uint8_t both[LAMPAR_DIGEST_BYTES];
    lampar_digest_parts(parts, 2, both);
    memcpy(mine.keys, both, sizeof mine.keys);
  }
  return mine;
}

static lampar_status compare(const lampar_channel *channel, const facts *all) {
  for (int r = 1; r < channel->world; ++r)
    if (all[r].count != all[0].count || memcmp(all[r].keys, all[0].keys, sizeof all[r].keys) != 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "rank %d builds other kernels than rank 0: give all ranks the same spec, "
                         "arch, world, templates and version of lampar",
                         r);
  return LAMPAR_OK;
}

static entry entry_of(const lampar_cache_code *code) {
  entry mine = {0};
  if (code->bytes == NULL) return mine;
  mine.size = code->size;
  lampar_digest(code->bytes, code->size, mine.digest);
  memcpy(mine.build, code->build, sizeof mine.build);
  return mine;
}

static lampar_status gather_inventory(lampar_jit_share *share, const lampar_jit_kernels *kernels) {
  const size_t count = kernels->count, world = (size_t)share->channel->world;
  entry mine[ENTRIES_MAX];
  for (size_t first = 0; first < count; first += ENTRIES_MAX) {
    const size_t some = count - first < ENTRIES_MAX ? count - first : ENTRIES_MAX;
    for (size_t i = 0; i < some; ++i) mine[i] = entry_of(&kernels->list[first + i].code);
    LAMPAR_TRY(lampar_channel_gather(share->channel, "inventory", mine, share->messages,
                                     some * sizeof *mine));
    for (size_t r = 0; r < world; ++r)
      memcpy(share->inventory + r * count + first, share->messages + r * some * sizeof *mine,
             some * sizeof *mine);
  }
  return LAMPAR_OK;
}

static const entry *entry_at(const lampar_jit_share *share, size_t count, size_t rank,
                             size_t kernel) {
  return &share->inventory[rank * count + kernel];
}

/* The first rank that has the kernel; world when none does. */
static size_t owner_of(const lampar_jit_share *share, size_t count, size_t kernel) {
  const size_t world = (size_t)share->channel->world;
  size_t r = 0;
  while (r < world && entry_at(share, count, r, kernel)->size == 0) ++r;
  return r;
}

/* ---- work ---- */

static lampar_status assign(const lampar_jit_share *share, lampar_jit_kernels *kernels,
                            const facts *all) {
  const size_t world = (size_t)share->channel->world, rank = (size_t)share->channel->rank;
  size_t compilers[LAMPAR_WORLD_MAX], compiler_count = 0, next = 0;
  for (size_t r = 0; r < world; ++r)
    if (all[r].can_compile) compilers[compiler_count++] = r;
  for (size_t i = 0; i < kernels->count; ++i) {
    if (owner_of(share, kernels->count, i) < world) continue;
    if (compiler_count == 0) return lampar_jit_kernels_refuse(kernels, &kernels->list[i]);
    kernels->list[i].is_mine = compilers[next++ % compiler_count] == rank;
  }
  return LAMPAR_OK;
}

lampar_status lampar_jit_share_work(lampar_jit_share *share, lampar_jit_kernels *kernels,
                                    lampar_status own) {
  facts all[LAMPAR_WORLD_MAX];
  if (own == LAMPAR_OK) own = allocate(share, kernels->count);
  LAMPAR_TRY(lampar_jit_share_vote(share, "sources", own));
  const facts mine = facts_of(kernels);
  LAMPAR_TRY(lampar_channel_gather(share->channel, "kernels", &mine, all, sizeof mine));
  LAMPAR_TRY(compare(share->channel, all));
  LAMPAR_TRY(gather_inventory(share, kernels));
  return assign(share, kernels, all);
}

/* ---- code ---- */

static bool is_equal(const entry *a, const entry *b) {
  return a->size == b->size && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

/* The rank that sends the kernel; world when all ranks have the same bytes. */
static size_t sender_of(const lampar_jit_share *share, size_t count, size_t kernel) {
  const size_t world = (size_t)share->channel->world, owner = owner_of(share, count, kernel);
  for (size_t r = 0; owner < world && r < world; ++r)
    if (!is_equal(entry_at(share, count, r, kernel), entry_at(share, count, owner, kernel)))
      return owner;
  return world;
}

/* Makes room for what each rank sends, and fills this rank's. */
static lampar_status fill_blobs(lampar_jit_share *share, const lampar_jit_kernels *kernels) {
  const size_t count = kernels->count, world = (size_t)share->channel->world;
  for (size_t i = 0; i < count; ++i) {
    const size_t sender = sender_of(share, count, i);
    if (sender < world) share->blobs[sender].size += entry_at(share, count, sender, i)->size;
  }
  for (size_t r = 0; r < world; ++r) {
    lampar_jit_blob *const blob = &share->blobs[r];
    if (blob->size == 0) continue;
    blob->bytes = malloc(blob->size);
    if (blob->bytes == NULL)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the code of rank %zu", r);
  }
  const size_t rank = (size_t)share->channel->rank;
  for (size_t i = 0, at = 0; i < count; ++i) {
    if (sender_of(share, count, i) != rank) continue;
    const lampar_cache_code *const code = &kernels->list[i].code;
    memcpy(share->blobs[rank].bytes + at, code->bytes, code->size);
    at += code->size;
  }
  return LAMPAR_OK;
}

static size_t part_of(const lampar_jit_blob *blob, size_t at) {
  const size_t rest = blob->size > at ? blob->size - at : 0;
  return rest < MESSAGE_BYTES ? rest : MESSAGE_BYTES;
}

static lampar_status gather_blobs(lampar_jit_share *share) {
  const size_t world = (size_t)share->channel->world;
  const lampar_jit_blob *const own = &share->blobs[share->channel->rank];
  size_t longest = 0;
  for (size_t r = 0; r < world; ++r)
    if (share->blobs[r].size > longest) longest = share->blobs[r].size;
  for (size_t at = 0; at < longest; at += MESSAGE_BYTES) {
    char mine[MESSAGE_BYTES] = {0};
    if (part_of(own, at) > 0) memcpy(mine, own->bytes + at, part_of(own, at));
    LAMPAR_TRY(lampar_channel_gather(share->channel, "code", mine, share->messages, MESSAGE_BYTES));
    for (size_t r = 0; r < world; ++r)
      if (part_of(&share->blobs[r], at) > 0)
        memcpy(share->blobs[r].bytes + at, share->messages + r * MESSAGE_BYTES,
               part_of(&share->blobs[r], at));
  }
  return LAMPAR_OK;
}

lampar_status lampar_jit_share_code(lampar_jit_share *share, lampar_jit_kernels *kernels,
                                    lampar_status own) {
  share->channel->timeout_ms = LAMPAR_EXCHANGE_COMPILE_MS;
  LAMPAR_TRY(lampar_jit_share_vote(share, "compiling", own));
  LAMPAR_TRY(gather_inventory(share, kernels));
  LAMPAR_TRY(lampar_jit_share_vote(share, "memory", fill_blobs(share, kernels)));
  return gather_blobs(share);
}

static lampar_status receive(lampar_jit_kernels *kernels, lampar_jit_kernel *kernel,
                             const entry *expected, const char *bytes) {
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  lampar_digest(bytes, expected->size, digest);
  if (memcmp(digest, expected->digest, sizeof digest) != 0)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: its code was damaged in the exchange",
                       kernel->key.name);
  lampar_cache_code code = {.bytes = malloc(expected->size), .size = expected->size};
  if (code.bytes == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for its code", kernel->key.name);
  memcpy(code.bytes, bytes, code.size);
  memcpy(code.build, expected->build, sizeof code.build);
  free(kernel->code.bytes);
  kernel->code = code;
  kernel->origin = LAMPAR_JIT_RECEIVED;
  lampar_cache_code stored;
  if (lampar_cache_find_again(kernels->cache, &kernel->key, code.build, &stored))
    free(stored.bytes);
  else lampar_cache_store(kernels->cache, &kernel->key, &kernel->code);
  return LAMPAR_OK;
}

lampar_status lampar_jit_share_receive(const lampar_jit_share *share, lampar_jit_kernels *kernels) {
  const size_t count = kernels->count, world = (size_t)share->channel->world,
               rank = (size_t)share->channel->rank;
  size_t at[LAMPAR_WORLD_MAX] = {0};
  for (size_t i = 0; i < count; ++i) {
    const size_t sender = sender_of(share, count, i);
    if (sender == world) continue;
    const entry *const expected = entry_at(share, count, sender, i);
    if (!is_equal(entry_at(share, count, rank, i), expected))
      LAMPAR_TRY(
          receive(kernels, &kernels->list[i], expected, share->blobs[sender].bytes + at[sender]));
    at[sender] += expected->size;
  }
  return LAMPAR_OK;
}
