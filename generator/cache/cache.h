/* Compiled kernels in files, one each, shared by any number of processes without locks: a file is
 * there whole or not at all, what lies in it is checked whenever it is read, and whatever is wrong
 * is a miss and one line in the log. No function here fails because of a folder. */
#ifndef LAMPAR_CACHE_H
#define LAMPAR_CACHE_H

#include "base/log.h"
#include "cache/cache_entry.h"

typedef struct lampar_cache lampar_cache;

/* `read_folders` are looked into first, in their order, and never written; then `write_folder`, ""
 * for none, NULL for where lampar_cache_place_find says. All must outlive the call only; `logger`
 * must outlive the cache. Errors: SYSTEM (memory). The caller closes it. Any threads may use one
 * cache at a time. */
lampar_status lampar_cache_open(const char *const *read_folders, size_t read_folder_count,
                                const char *write_folder, const lampar_logger *logger,
                                lampar_cache **cache);
void lampar_cache_close(lampar_cache *cache);

/* The folder that is written; NULL: none. Owned by the cache. */
const char *lampar_cache_folder(const lampar_cache *cache);

/* Looks for a kernel that `build` of a compiler made; NULL: any build. True: the caller frees
 * code->bytes. */
bool lampar_cache_find(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                       lampar_cache_code *code);

/* The same for a kernel that was not there a moment ago and that another process may have made
 * meanwhile: looks where it would be written, and says nothing about what is wrong. */
bool lampar_cache_find_again(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                             lampar_cache_code *code);

/* Keeps a kernel. The first failure is a warning, and nothing more is written. */
void lampar_cache_store(lampar_cache *cache, const lampar_cache_key *key,
                        const lampar_cache_code *code);

/* A hint, so that processes that start together do not all compile the same kernels: true when this
 * cache is the only one that holds the folder's lock, or when there is no way to tell (no folder to
 * write, a file system without locks). Nothing relies on it. The lock ends with unlock, with close
 * and with the process, however that ends. */
bool lampar_cache_lock(lampar_cache *cache);
void lampar_cache_unlock(lampar_cache *cache);

#endif
