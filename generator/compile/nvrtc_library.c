#include "compile/nvrtc_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/environment.h"
#include "spec/files.h"

/* NODELETE: NVRTC does not free all of its memory when it is unloaded. */
enum { LIBRARY_BYTES_MAX = 1 << 30, OPEN_FLAGS = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

/* Newest first. */
static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/* Patterns of glob(7). A leading $NAME is a folder from the environment; the pattern is skipped
 * when the variable is not set. */
static const char *const folders[] = {
    "$CUDA_HOME/lib64",
    "$CUDA_PATH/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda-*/lib64",
    "$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/cu13/lib",
    "$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
    "$HOME/.local/lib/python3*/site-packages/nvidia/cu13/lib",
    "$HOME/.local/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib",
    "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib",
    "/usr/local/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib",
    "/usr/lib/python3*/*-packages/nvidia/cu13/lib",
    "/usr/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib",
};

static bool pattern_of(const char *folder, const char *name, char pattern[PATH_MAX]) {
  const char *root = "";
  if (folder[0] == '$') {
    char variable[32];
    const size_t length = strcspn(folder + 1, "/");
    snprintf(variable, sizeof variable, "%.*s", (int)length, folder + 1);
    root = getenv(variable);
    if (root == NULL || root[0] == '\0') return false;
    folder += 1 + length;
  }
  const int length = snprintf(pattern, PATH_MAX, "%s%s/%s", root, folder, name);
  return length > 0 && length < PATH_MAX;
}

static void *open_in_folders(const char *name) {
  void *handle = NULL;
  for (size_t i = 0; i < sizeof folders / sizeof folders[0] && handle == NULL; ++i) {
    char pattern[PATH_MAX];
    glob_t found;
    if (!pattern_of(folders[i], name, pattern)) continue;
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t j = found.gl_pathc; j-- > 0 && handle == NULL;)
      handle = dlopen(found.gl_pathv[j], OPEN_FLAGS);
    globfree(&found);
  }
  return handle;
}

static lampar_status find(void **handle) {
  const char *const chosen = lampar_variable_text(LAMPAR_VARIABLE_NVRTC_LIBRARY);
  if (chosen != NULL) {
    *handle = dlopen(chosen, OPEN_FLAGS);
    if (*handle != NULL) return LAMPAR_OK;
    return lampar_fail(
        LAMPAR_ERROR_SYSTEM,
        "LAMPAR_NVRTC_LIBRARY=%s cannot be loaded (%s); name the libnvrtc.so of a CUDA "
        "toolkit, or unset it",
        chosen, dlerror());
  }
  if (dlsym(RTLD_DEFAULT, "nvrtcVersion") != NULL) {
    *handle = dlopen(NULL, RTLD_NOW);
    if (*handle != NULL) return LAMPAR_OK;
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    *handle = dlopen(names[i], OPEN_FLAGS);
    if (*handle == NULL) *handle = open_in_folders(names[i]);
    if (*handle != NULL) return LAMPAR_OK;
  }
  return lampar_fail(
      LAMPAR_ERROR_SYSTEM,
      "no NVRTC is found: neither %s nor %s; install a CUDA toolkit or the Python wheel "
      "nvidia-cuda-nvrtc, or name the file in LAMPAR_NVRTC_LIBRARY",
      names[0], names[1]);
}

typedef struct build_search {
  const void *address; /* inside the library */
  char *build;
  size_t build_size;
} build_search;

static bool holds(const struct dl_phdr_info *object, const void *address) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *const part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && (uintptr_t)address >= start &&
        (uintptr_t)address - start < part->p_memsz)
      return true;
  }
  return false;
}

static void read_notes(const char *at, size_t size, build_search *search) {
  ElfW(Nhdr) note;
  while (size >= sizeof note) {
    memcpy(&note, at, sizeof note);
    const size_t name_size = (note.n_namesz + 3u) & ~3u, data_size = (note.n_descsz + 3u) & ~3u;
    if (name_size + data_size > size - sizeof note) return;
    const char *const name = at + sizeof note;
    const unsigned char *const data = (const unsigned char *)name + name_size;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
      for (size_t i = 0; i < note.n_descsz && 2 * i + 3 <= search->build_size; ++i)
        snprintf(search->build + 2 * i, 3, "%02x", data[i]);
    at += sizeof note + name_size + data_size;
    size -= sizeof note + name_size + data_size;
  }
}

static int read_build_id(struct dl_phdr_info *object, size_t size, void *user) {
  (void)size;
  build_search *const search = user;
  if (!holds(object, search->address)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *const part = &object->dlpi_phdr[i];
    if (part->p_type == PT_NOTE)
      read_notes((const char *)(object->dlpi_addr + part->p_vaddr), part->p_memsz, search);
  }
  return 1;
}

static lampar_status identify(lampar_nvrtc_library *library) {
  Dl_info place;
  const void *const entry = dlsym(library->handle, "nvrtcVersion");
  if (entry == NULL || dladdr(entry, &place) == 0 ||
      realpath(place.dli_fname, library->path) == NULL) {
    const struct link_map *map = NULL;
    dlinfo(library->handle, RTLD_DI_LINKMAP, &map);
    return lampar_fail(LAMPAR_ERROR_SYSTEM,
                       "%s has no nvrtcVersion, so it is not NVRTC; name another file in "
                       "LAMPAR_NVRTC_LIBRARY",
                       map != NULL ? map->l_name : "the library");
  }
  build_search search = {entry, library->build, sizeof library->build};
  dl_iterate_phdr(read_build_id, &search);
  if (library->build[0] != '\0') return LAMPAR_OK;

  char *bytes;
  size_t size;
  uint8_t digest[LAMPAR_DIGEST_BYTES];
  LAMPAR_TRY(lampar_file_read(library->path, LIBRARY_BYTES_MAX, &bytes, &size));
  lampar_digest(bytes, size, digest);
  lampar_digest_hex(digest, library->build);
  free(bytes);
  return LAMPAR_OK;
}

lampar_status lampar_nvrtc_library_open(lampar_nvrtc_library *library) {
  *library = (lampar_nvrtc_library){0};
  LAMPAR_TRY(find(&library->handle));
  const lampar_status status = identify(library);
  if (status != LAMPAR_OK) lampar_nvrtc_library_close(library);
  return status;
}

void lampar_nvrtc_library_close(lampar_nvrtc_library *library) {
  if (library->handle != NULL) dlclose(library->handle);
  library->handle = NULL;
}
