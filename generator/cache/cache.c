/* FOLDER/v1/ab/KEY-BUILD is an entry, both digests in hexadecimal, ab the first two digits; a file
 * NUMBER.tmp in the same folder is an entry that is being written. */
#include "cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache_place.h"
#include "spec/file_bytes.h"

enum { NAME_BYTES = 160, ENTRY_NAME_LENGTH = 2 * (LAMPAR_DIGEST_HEX - 1) + 1 };

typedef struct folder {
  char *path;
  int file;
} folder;

struct lampar_cache {
  folder *folders; /* in search order; the last is written if `is_writable` */
  size_t count;
  bool is_writable;
  atomic_bool has_failed; /* to write: there is no second attempt */
  const lampar_logger *logger;
};

/* ---- folders ---- */

static lampar_status add_folder(lampar_cache *cache, const char *path, bool create, bool *added) {
  folder *const next = &cache->folders[cache->count];
  *added = false;
  if (lampar_cache_place_open(path, create, &next->file) != LAMPAR_OK) {
    lampar_log(cache->logger, LAMPAR_LOG_WARN, "cache: %s; the folder is not used",
               lampar_last_error());
    return LAMPAR_OK;
  }
  next->path = strdup(path);
  if (next->path == NULL) {
    close(next->file);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the cache");
  }
  ++cache->count;
  *added = true;
  return LAMPAR_OK;
}

static lampar_status add_folders(lampar_cache *cache, const char *const *read_folders,
                                 size_t read_folder_count, const char *write_folder) {
  bool added;
  for (size_t i = 0; i < read_folder_count; ++i)
    LAMPAR_TRY(add_folder(cache, read_folders[i], false, &added));
  lampar_cache_place place;
  if (write_folder == NULL) {
    lampar_cache_place_find(&place);
    write_folder = place.path;
    if (write_folder[0] == '\0')
      lampar_log(cache->logger, LAMPAR_LOG_INFO, "cache: none (%s)", place.source);
  }
  if (write_folder[0] == '\0') return LAMPAR_OK;
  return add_folder(cache, write_folder, true, &cache->is_writable);
}

lampar_status lampar_cache_open(const char *const *read_folders, size_t read_folder_count,
                                const char *write_folder, const lampar_logger *logger,
                                lampar_cache **out) {
  *out = NULL;
  lampar_cache *cache = calloc(1, sizeof *cache);
  if (cache != NULL) cache->folders = calloc(read_folder_count + 1, sizeof *cache->folders);
  if (cache == NULL || cache->folders == NULL) {
    free(cache);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for the cache");
  }
  cache->logger = logger;
  const lampar_status status = add_folders(cache, read_folders, read_folder_count, write_folder);
  if (status == LAMPAR_OK) *out = cache;
  else lampar_cache_close(cache);
  return status;
}

void lampar_cache_close(lampar_cache *cache) {
  if (cache == NULL) return;
  for (size_t i = 0; i < cache->count; ++i) {
    close(cache->folders[i].file);
    free(cache->folders[i].path);
  }
  free(cache->folders);
  free(cache);
}

const char *lampar_cache_folder(const lampar_cache *cache) {
  return cache->is_writable ? cache->folders[cache->count - 1].path : NULL;
}

static const folder *written(lampar_cache *cache) {
  if (!cache->is_writable || atomic_load(&cache->has_failed)) return NULL;
  return &cache->folders[cache->count - 1];
}

/* ---- names ---- */

/* "v1/ab/"; returns its length. */
static size_t name_folder(const lampar_cache_key *key, char name[NAME_BYTES]) {
  return (size_t)snprintf(name, NAME_BYTES, "v%d/%02x/", LAMPAR_CACHE_FORMAT, key->digest[0]);
}

static void name_entry(const lampar_cache_key *key, const uint8_t build[LAMPAR_DIGEST_BYTES],
                       char name[NAME_BYTES]) {
  char key_hex[LAMPAR_DIGEST_HEX], build_hex[LAMPAR_DIGEST_HEX];
  const size_t used = name_folder(key, name);
  lampar_digest_hex(key->digest, key_hex);
  lampar_digest_hex(build, build_hex);
  snprintf(name + used, NAME_BYTES - used, "%s-%s", key_hex, build_hex);
}

/* An entry of any build: of several the one with the greatest name, so that the choice is stable.
 */
static bool name_any_entry(const folder *from, const lampar_cache_key *key, char name[NAME_BYTES]) {
  char key_hex[LAMPAR_DIGEST_HEX], best[ENTRY_NAME_LENGTH + 1] = "";
  lampar_digest_hex(key->digest, key_hex);
  const size_t used = name_folder(key, name);
  const int file = openat(from->file, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *const list = file >= 0 ? fdopendir(file) : NULL;
  if (list == NULL) {
    if (file >= 0) close(file);
    return false;
  }
  for (const struct dirent *entry; (entry = readdir(list)) != NULL;)
    if (strlen(entry->d_name) == ENTRY_NAME_LENGTH &&
        strncmp(entry->d_name, key_hex, sizeof key_hex - 1) == 0 && strcmp(entry->d_name, best) > 0)
      memcpy(best, entry->d_name, sizeof best);
  closedir(list);
  snprintf(name + used, NAME_BYTES - used, "%s", best);
  return best[0] != '\0';
}

/* ---- reading ---- */

static const char *read_bytes(int file, char **bytes, size_t *size) {
  struct stat facts;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) return "is not a file";
  const char *const mistrust = lampar_cache_check_trust(&facts);
  if (mistrust != NULL) return mistrust;
  if (facts.st_size > LAMPAR_CACHE_ENTRY_BYTES_MAX) return "is too large";
  *size = (size_t)facts.st_size;
  *bytes = malloc(*size + 1);
  if (*bytes == NULL) return "cannot be read: out of memory";
  switch (lampar_file_bytes_read(file, *bytes, *size)) {
  case 0: return NULL;
  case ENODATA: return "is truncated";
  default: return "cannot be read";
  }
}

static bool find_in(const lampar_cache *cache, const folder *from, const lampar_cache_key *key,
                    const uint8_t *build, bool is_quiet, lampar_cache_code *code) {
  char name[NAME_BYTES];
  if (build != NULL) name_entry(key, build, name);
  else if (!name_any_entry(from, key, name)) return false;
  const int file = openat(from->file, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return false;
  char *bytes = NULL;
  size_t size = 0;
  const char *wrong = file >= 0 ? read_bytes(file, &bytes, &size) : strerror(errno);
  if (wrong == NULL) wrong = lampar_cache_entry_read(bytes, size, key, build, code);
  free(bytes);
  if (file >= 0) close(file);
  if (wrong != NULL && !is_quiet)
    lampar_log(cache->logger, LAMPAR_LOG_WARN,
               "cache: %s/%s %s; %s is treated as missing from this folder", from->path, name,
               wrong, key->name);
  return wrong == NULL;
}

bool lampar_cache_find(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                       lampar_cache_code *code) {
  for (size_t i = 0; i < cache->count; ++i)
    if (find_in(cache, &cache->folders[i], key, build, false, code)) return true;
  return false;
}

bool lampar_cache_find_again(lampar_cache *cache, const lampar_cache_key *key, const uint8_t *build,
                             lampar_cache_code *code) {
  const folder *const from = written(cache);
  return from != NULL && find_in(cache, from, key, build, true, code);
}

/* ---- writing ---- */

static void warn_unwritable(lampar_cache *cache, const char *name, int cause) {
  if (atomic_exchange(&cache->has_failed, true)) return;
  lampar_log(cache->logger, LAMPAR_LOG_WARN,
             "cache: %s/%s cannot be written: %s; this process stores no more kernels",
             lampar_cache_folder(cache), name, strerror(cause));
}

/* Creates a new file, and its folders if they are missing; 0 or the errno of what failed. */
static int create(const folder *to, const char *name, int *file) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  *file = openat(to->file, name, flags, 0600);
  if (*file >= 0) return 0;
  if (errno != ENOENT) return errno;
  char above[NAME_BYTES];
  for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; ++slash) {
    snprintf(above, sizeof above, "%.*s", (int)(slash - name), name);
    if (mkdirat(to->file, above, 0700) != 0 && errno != EEXIST) return errno;
  }
  *file = openat(to->file, name, flags, 0600);
  return *file >= 0 ? 0 : errno;
}

/* The file is synced before it is renamed; the folder is not: a lost name is only a miss. */
static int write_entry(const folder *to, const lampar_cache_key *key, const char *name,
                       const char *entry, size_t size) {
  /* Containers may share the folder, and process ids repeat there: use a random number. */
  char temporary[NAME_BYTES];
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return errno;
  const size_t used = name_folder(key, temporary);
  snprintf(temporary + used, sizeof temporary - used, "%016llx.tmp", (unsigned long long)number);
  int file;
  int cause = create(to, temporary, &file);
  if (cause != 0) return cause;
  cause = lampar_file_bytes_write(file, entry, size);
  if (close(file) != 0 && cause == 0) cause = errno;
  if (cause == 0 && renameat(to->file, temporary, to->file, name) != 0) cause = errno;
  if (cause != 0) unlinkat(to->file, temporary, 0);
  return cause;
}

void lampar_cache_store(lampar_cache *cache, const lampar_cache_key *key,
                        const lampar_cache_code *code) {
  const folder *const to = written(cache);
  if (to == NULL) return;
  char name[NAME_BYTES], *entry = NULL;
  size_t size;
  name_entry(key, code->build, name);
  const int cause = lampar_cache_entry_make(key, code, &entry, &size) == LAMPAR_OK
                        ? write_entry(to, key, name, entry, size)
                        : ENOMEM;
  free(entry);
  if (cause != 0) warn_unwritable(cache, name, cause);
}

/* ---- the lock ---- */

bool lampar_cache_lock(lampar_cache *cache) {
  const folder *const to = written(cache);
  return to == NULL || flock(to->file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void lampar_cache_unlock(lampar_cache *cache) {
  if (cache->is_writable) flock(cache->folders[cache->count - 1].file, LOCK_UN);
}
