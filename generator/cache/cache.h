/* Compiled kernels, one file each, shared by any number of processes: a file is complete or absent,
 * and is checked whenever it is read. Whatever is wrong with a file or a folder is a miss and one
 * line in the log, never an error. */
#ifndef LAMPAR_CACHE_H
#define LAMPAR_CACHE_H

#include "base/log.h"
#include "cache/cache_entry.h"

typedef struct lampar_cache lampar_cache;

/* Searches `read_folders` first, in their order, without writing to them; then `write_folder`: ""
 * for none, NULL for the one that lampar_cache_place_find finds. The strings are needed during the
 * call only; `logger` must outlive the cache. The caller closes it. Several threads may use one
 * cache. Errors: SYSTEM (memory). */
lampar_status lampar_cache_open(const char *const *read_folders, size_t read_folder_count,
                                const char *write_folder, const lampar_logger *logger,
                                lampar_cache **cache);
void lampar_cache_close(lampar_cache *cache);

/* The folder that is written; NULL: none. Owned by the cache. */
const char *lampar_cache_folder(const lampar_cache *cache);

/* Finds a kernel that `build` of a compiler compiled; NULL: any build. Returns true when it is
 * there; the caller frees code->bytes. */
bool lampar_cache_find(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                       lampar_cache_code *code);

/* The same for a kernel that was missing before, and that another process may have stored since:
 * looks only into the folder that is written, and logs nothing. */
bool lampar_cache_find_again(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                             lampar_cache_code *code);

/* Stores a kernel. The first failure is logged as a warning, and nothing is written after it. */
void lampar_cache_store(lampar_cache *cache, const lampar_cache_key *key,
                        const lampar_cache_code *code);

/* A hint, so that processes that start together do not all compile the same kernels. Returns true
 * when this cache holds the folder's lock, or when nothing can be locked (no folder to write, a
 * file system without locks). Correctness never depends on it. The lock ends with unlock, with
 * close and with the process, however that ends. */
bool lampar_cache_lock(lampar_cache *cache);
void lampar_cache_unlock(lampar_cache *cache);

#endif
