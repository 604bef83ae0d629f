#include "jit/jit_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = LAMPAR_EXCHANGE_BYTES_MAX };

typedef struct report {
  uint32_t status;
  uint32_t can_compile;
  uint64_t count;
  uint8_t kernels[LAMPAR_DIGEST_BYTES]; /* of all keys */
  char message[480];
} report;

/* What a rank has of one kernel; no bytes: nothing. */
typedef struct inventory_entry {
  uint64_t size;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  uint8_t build[LAMPAR_DIGEST_BYTES];
} inventory_entry;

enum { INVENTORY_MAX = MESSAGE_BYTES / sizeof(inventory_entry) };

static lampar_status gather(const lampar_channel *channel, const char *step, const void *mine,
                            void *all, size_t bytes) {
  return lampar_channel_gather(channel, step, mine, all, bytes);
}

/* OK when all ranks are; `all` may be looked at then. */
static lampar_status agree(const lampar_channel *channel, const char *step,
                           const lampar_jit_kernels *kernels, lampar_status own,
                           report all[LAMPAR_WORLD_MAX]) {
  report mine = {
      .status = (uint32_t)own, .can_compile = kernels->compiler.is_there, .count = kernels->count};
  if (own != LAMPAR_OK) {
    snprintf(mine.message, sizeof mine.message, "%s", lampar_last_error());
  } else {
    lampar_digest_part *const parts = calloc(kernels->count, sizeof *parts);
    if (parts == NULL) {
      mine.status = (uint32_t)lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory");
      snprintf(mine.message, sizeof mine.message, "%s", lampar_last_error());
    }
    for (size_t i = 0; parts != NULL && i < kernels->count; ++i)
      parts[i] = (lampar_digest_part){kernels->list[i].key.digest, LAMPAR_DIGEST_BYTES};
    if (parts != NULL) lampar_digest_parts(parts, kernels->count, mine.kernels);
    free(parts);
  }
  LAMPAR_TRY(gather(channel, step, &mine, all, sizeof mine));
  for (int r = 0; r < channel->world; ++r) {
    if (all[r].status == LAMPAR_OK) continue;
    if (r == channel->rank) return lampar_fail(all[r].status, "%s", mine.message);
    all[r].message[sizeof all[r].message - 1] = '\0';
    return lampar_fail((lampar_status)all[r].status, "rank %d: %s", r, all[r].message);
  }
  return LAMPAR_OK;
}

static lampar_status compare(const lampar_channel *channel, const report *all) {
  for (int r = 1; r < channel->world; ++r)
    if (all[r].count != all[0].count ||
        memcmp(all[r].kernels, all[0].kernels, sizeof all[r].kernels) != 0)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "rank %d builds other kernels than rank 0: give all ranks the same spec, "
                         "arch, world, templates and version of lampar",
                         r);
  return LAMPAR_OK;
}

/* Entry rank * count + kernel. The caller frees it. */
static lampar_status gather_holdings(const lampar_channel *channel,
                                     const lampar_jit_kernels *kernels, inventory_entry **all) {
  const size_t count = kernels->count, world = (size_t)channel->world;
  inventory_entry mine[INVENTORY_MAX], *const step = calloc(world * INVENTORY_MAX, sizeof *step);
  *all = calloc(world * count, sizeof **all);
  lampar_status status = LAMPAR_OK;
  if (step == NULL || *all == NULL)
    status = lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for the kernels of %zu ranks", world);
  for (size_t first = 0; status == LAMPAR_OK && first < count; first += INVENTORY_MAX) {
    const size_t some = count - first < INVENTORY_MAX ? count - first : INVENTORY_MAX;
    memset(mine, 0, sizeof mine);
    for (size_t i = 0; i < some; ++i) {
      const lampar_cache_code *const code = &kernels->list[first + i].code;
      if (code->bytes == NULL) continue;
      mine[i].size = code->size;
      lampar_digest(code->bytes, code->size, mine[i].digest);
      memcpy(mine[i].build, code->build, sizeof mine[i].build);
    }
    status = gather(channel, "kernels", mine, step, some * sizeof *mine);
    for (size_t r = 0; status == LAMPAR_OK && r < world; ++r)
      memcpy(*all + r * count + first, step + r * some, some * sizeof *step);
  }
  free(step);
  if (status == LAMPAR_OK) return LAMPAR_OK;
  free(*all);
  *all = NULL;
  return status;
}

/* The first rank that has the kernel, world when none does. */
static size_t owner_of(const inventory_entry *all, size_t world, size_t count, size_t kernel) {
  size_t r = 0;
  while (r < world && all[r * count + kernel].size == 0) ++r;
  return r;
}

static bool has_same(const inventory_entry *a, const inventory_entry *b) {
  return a->size == b->size && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

lampar_status lampar_jit_share_out(const lampar_channel *channel, lampar_jit_kernels *kernels,
                                   lampar_status own) {
  report all[LAMPAR_WORLD_MAX];
  inventory_entry *inventories;
  const size_t world = (size_t)channel->world;
  LAMPAR_TRY(agree(channel, "sources", kernels, own, all));
  LAMPAR_TRY(compare(channel, all));
  LAMPAR_TRY(gather_holdings(channel, kernels, &inventories));

  size_t makers[LAMPAR_WORLD_MAX], maker_count = 0, next = 0;
  for (size_t r = 0; r < world; ++r)
    if (all[r].can_compile) makers[maker_count++] = r;
  lampar_status status = LAMPAR_OK;
  for (size_t i = 0; status == LAMPAR_OK && i < kernels->count; ++i) {
    if (owner_of(inventories, world, kernels->count, i) < world) continue;
    if (maker_count == 0) status = lampar_jit_kernels_refuse(kernels, &kernels->list[i]);
    else kernels->list[i].is_mine = makers[next++ % maker_count] == (size_t)channel->rank;
  }
  free(inventories);
  return status;
}

/* ---- giving ---- */

/* The codes that a rank gives, one after the other in the order of the kernels. */
typedef struct blob {
  char *bytes;
  size_t size;
} blob;

/* Whether the kernel travels. */
static bool is_sent(const inventory_entry *all, size_t world, size_t count, size_t kernel) {
  const size_t owner = owner_of(all, world, count, kernel);
  for (size_t r = 0; owner < world && r < world; ++r)
    if (!has_same(&all[r * count + kernel], &all[owner * count + kernel])) return true;
  return false;
}

static lampar_status gather_streams(const lampar_channel *channel, blob *blobs) {
  const size_t world = (size_t)channel->world;
  const blob *const own = &blobs[channel->rank];
  char mine[MESSAGE_BYTES], *const step = malloc(world * MESSAGE_BYTES);
  size_t longest = 0;
  for (size_t r = 0; r < world; ++r)
    if (blobs[r].size > longest) longest = blobs[r].size;
  lampar_status status =
      step != NULL ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for the exchange");
  for (size_t at = 0; status == LAMPAR_OK && at < longest; at += MESSAGE_BYTES) {
    const size_t left = own->size > at ? own->size - at : 0;
    memset(mine, 0, sizeof mine);
    if (left > 0) memcpy(mine, own->bytes + at, left < MESSAGE_BYTES ? left : MESSAGE_BYTES);
    status = gather(channel, "code", mine, step, MESSAGE_BYTES);
    for (size_t r = 0; status == LAMPAR_OK && r < world; ++r) {
      const size_t rest = blobs[r].size > at ? blobs[r].size - at : 0;
      memcpy(blobs[r].bytes + at, step + r * MESSAGE_BYTES,
             rest < MESSAGE_BYTES ? rest : MESSAGE_BYTES);
    }
  }
  free(step);
  return status;
}

static lampar_status receive(lampar_jit_kernels *kernels, lampar_jit_kernel *kernel,
                             const inventory_entry *entry, const char *bytes) {
  lampar_cache_code code = {.bytes = malloc(entry->size), .size = entry->size};
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  if (code.bytes == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: no memory for its code", kernel->key.name);
  memcpy(code.bytes, bytes, code.size);
  memcpy(code.build, entry->build, sizeof code.build);
  lampar_digest(code.bytes, code.size, digest);
  if (memcmp(digest, entry->digest, sizeof digest) != 0) {
    free(code.bytes);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: its code came damaged out of the exchange",
                       kernel->key.name);
  }
  free(kernel->code.bytes);
  kernel->code = code;
  kernel->origin = LAMPAR_JIT_RECEIVED;
  lampar_cache_code kept;
  if (lampar_cache_find_again(kernels->cache, &kernel->key, code.build, &kept)) free(kept.bytes);
  else lampar_cache_store(kernels->cache, &kernel->key, &kernel->code);
  return LAMPAR_OK;
}

static lampar_status distribute(const lampar_channel *channel, lampar_jit_kernels *kernels,
                                const inventory_entry *all, blob *blobs) {
  const size_t count = kernels->count, world = (size_t)channel->world, rank = (size_t)channel->rank;
  for (size_t i = 0; i < count; ++i)
    if (is_sent(all, world, count, i)) {
      const size_t owner = owner_of(all, world, count, i);
      blobs[owner].size += all[owner * count + i].size;
    }
  for (size_t r = 0; r < world; ++r) {
    blobs[r].bytes = malloc(blobs[r].size + 1);
    if (blobs[r].bytes == NULL)
      return lampar_fail(LAMPAR_ERROR_SYSTEM, "no memory for the code of rank %zu", r);
    blobs[r].size = 0;
  }
  size_t offsets[LAMPAR_WORLD_MAX] = {0};
  for (size_t i = 0; i < count; ++i) {
    if (!is_sent(all, world, count, i)) continue;
    const size_t owner = owner_of(all, world, count, i);
    blob *const to = &blobs[owner];
    if (owner == rank)
      memcpy(to->bytes + to->size, kernels->list[i].code.bytes, kernels->list[i].code.size);
    to->size += all[owner * count + i].size;
  }
  LAMPAR_TRY(gather_streams(channel, blobs));
  for (size_t i = 0; i < count; ++i) {
    if (!is_sent(all, world, count, i)) continue;
    const size_t owner = owner_of(all, world, count, i);
    const inventory_entry *const entry = &all[owner * count + i];
    if (!has_same(&all[rank * count + i], entry))
      LAMPAR_TRY(receive(kernels, &kernels->list[i], entry, blobs[owner].bytes + offsets[owner]));
    offsets[owner] += entry->size;
  }
  return LAMPAR_OK;
}

lampar_status lampar_jit_share_gather(const lampar_channel *channel, lampar_jit_kernels *kernels,
                                      lampar_status own) {
  report all[LAMPAR_WORLD_MAX];
  blob blobs[LAMPAR_WORLD_MAX] = {{0}};
  inventory_entry *inventories;
  LAMPAR_TRY(agree(channel, "compiled", kernels, own, all));
  LAMPAR_TRY(gather_holdings(channel, kernels, &inventories));
  const lampar_status status = distribute(channel, kernels, inventories, blobs);
  for (int r = 0; r < channel->world; ++r) free(blobs[r].bytes);
  free(inventories);
  return status;
}
