/* What a program sees of a group, a call, a pack and its own mistakes. On the emulated device:
 * groups_test PACK CASE, exit status 0 if everything is right. --list SPEC: the cases for the pack
 * of that spec. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "groups.h"
#include "pack/pack_read.h"
#include "pack/private_api.h"

enum {
  ABSENT = 5, /* a world without kernels */
  PATH_BYTES = 256,
};

/* ---- a group on NCCL as a whole ---- */

static lampar_status sum_by_nccl(lampar_rank *rank, void *user) {
  const lampar_reason reason = *(const lampar_reason *)user;
  const lampar_driver *driver = rank->driver;
  lampar_device_pointer data;
  float sums[HIDDEN];
  const float own = (float)(rank->rank + 1);
  uint32_t bits;
  memcpy(&bits, &own, sizeof bits);
  lampar_call call = call_of(1, HIDDEN);
  LAMPAR_TRY(expect_reason(rank, &call, reason));
  const char *report = lampar_group_report(rank->group);
  LAMPAR_TRY(expect(strstr(report, lampar_reason_string(reason)) != NULL, report));
  LAMPAR_TRY(expect(lampar_group_world(rank->group) == rank->world, "the group's world"));
  LAMPAR_TRY(expect(lampar_group_rank(rank->group) == rank->rank, "the group's rank"));
  LAMPAR_TRY(expect(lampar_group_workspace_bytes(rank->group) == 0, "no workspace"));

  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc(&data, sizeof sums), "cuMemAlloc"));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->memset_d32_async(data, bits, HIDDEN, rank->stream[0]), "cuMemsetD32Async"));
  call.input = call.output = (void *)(uintptr_t)data;
  LAMPAR_TRY(lampar_all_reduce(rank->group, &call, rank->stream[0]));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->copy_to_host_async(sums, data, sizeof sums, rank->stream[0]),
      "cuMemcpyDtoHAsync"));
  LAMPAR_TRY(lampar_rank_finish(rank));
  const float expected = (float)(rank->world * (rank->world + 1)) / 2;
  for (size_t i = 0; i < HIDDEN; ++i) LAMPAR_TRY(expect(sums[i] == expected, "the sum"));
  driver->memory_free(data);

  lampar_stats stats = LAMPAR_STATS_INIT;
  LAMPAR_TRY(lampar_group_stats(rank->group, &stats));
  LAMPAR_TRY(expect(stats.nccl_calls[reason] == 1 && stats.kernel_calls == 0, "one call by NCCL"));
  return expect(stats.nccl_bytes == sizeof sums, "its bytes");
}

static lampar_status whole_group(lampar_ranks *ranks, lampar_pack *pack, int world,
                                 lampar_reason reason) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.role = LAMPAR_ROLE_MOE;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, world));
  LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, pack != NULL ? 1 : 0, &config));
  return lampar_ranks_run(ranks, sum_by_nccl, &reason);
}

static lampar_status no_peer_access(lampar_ranks *ranks, lampar_pack *pack) {
  return whole_group(ranks, pack, 2, LAMPAR_REASON_NO_PEER_ACCESS);
}

static lampar_status no_world(lampar_ranks *ranks, lampar_pack *pack) {
  return whole_group(ranks, pack, ABSENT, LAMPAR_REASON_WORLD);
}

static lampar_status no_arch(lampar_ranks *ranks, lampar_pack *pack) {
  (void)pack;
  return whole_group(ranks, NULL, 2, LAMPAR_REASON_ARCH);
}

/* ---- a call ---- */

static lampar_status ask(lampar_rank *rank, void *user) {
  (void)user;
  const lampar_call row = call_of(ROWS, HIDDEN), flat = call_of(1, 333);
  const lampar_call rows = call_of(100 * ROWS, HIDDEN), bytes = call_of(1, 1 << 20);
  lampar_call dtype = row, op = row, epilogue = row;
  dtype.dtype = LAMPAR_I64;
  op.op = LAMPAR_MAX;
  epilogue.epilogue = "residual+rmsnorm";
  LAMPAR_TRY(expect_reason(rank, &row, LAMPAR_REASON_NONE));
  LAMPAR_TRY(expect_reason(rank, &flat, LAMPAR_REASON_NONE));
  LAMPAR_TRY(expect_reason(rank, &rows, LAMPAR_REASON_ROWS));
  LAMPAR_TRY(expect_reason(rank, &bytes, LAMPAR_REASON_BYTES));
  LAMPAR_TRY(expect_reason(rank, &dtype, LAMPAR_REASON_DTYPE));
  LAMPAR_TRY(expect_reason(rank, &op, LAMPAR_REASON_OP));
  LAMPAR_TRY(expect_reason(rank, &epilogue, LAMPAR_REASON_EPILOGUE));
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(expect_error(lampar_query(rank->group, NULL, &answer), LAMPAR_ERROR_ARGUMENT, "NULL"));
  return expect_error(lampar_query(rank->group, &row, NULL), LAMPAR_ERROR_ARGUMENT, "NULL");
}

static lampar_status query(lampar_ranks *ranks, lampar_pack *pack) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, 1, &config));
  return lampar_ranks_run(ranks, ask, NULL);
}

/* ---- packs ---- */

/* The file with one byte changed, or cut, opened as the library's own memory. */
static lampar_status damage(const char *file, size_t size, size_t at, size_t cut,
                            lampar_status status, const char *word) {
  lampar_pack *pack = NULL;
  char *copy = aligned_alloc(16, (size + 15) & ~(size_t)15);
  LAMPAR_TRY(expect(copy != NULL, "memory for a copy"));
  memcpy(copy, file, size);
  copy[at] ^= 1;
  const lampar_status opened = lampar_pack_open_owned(copy, size - cut, "copy", &pack);
  return expect_error(opened, status, word);
}

static lampar_status packs(lampar_ranks *ranks, lampar_pack *pack) {
  (void)ranks;
  lampar_kernel_info info = LAMPAR_KERNEL_INFO_INIT;
  size_t fused = 0;
  for (size_t i = 0; i < lampar_pack_count(pack); ++i) {
    LAMPAR_TRY(lampar_pack_info(pack, i, &info));
    LAMPAR_TRY(expect(strcmp(info.arch, "emu") == 0 && info.code_size > 0, info.name));
    fused += info.epilogue[0] != '\0';
  }
  LAMPAR_TRY(expect(fused == 0, "emu.lua has no epilogue"));
  LAMPAR_TRY(expect(strcmp(lampar_pack_name(pack), "emu") == 0, "the spec's name"));
  LAMPAR_TRY(expect(strlen(lampar_pack_digest(pack)) == 32, "a digest"));
  LAMPAR_TRY(expect_error(lampar_pack_info(pack, lampar_pack_count(pack), &info),
                          LAMPAR_ERROR_ARGUMENT, "kernel"));

  const char *file = (const char *)pack->data;
  LAMPAR_TRY(damage(file, pack->size, 0, 0, LAMPAR_ERROR_PACK, "not a lampar pack"));
  LAMPAR_TRY(damage(file, pack->size, offsetof(lampar_pack_header, format), 0, LAMPAR_ERROR_VERSION,
                    "pack format"));
  LAMPAR_TRY(damage(file, pack->size, pack->size - 1, 1, LAMPAR_ERROR_PACK, "truncated"));
  LAMPAR_TRY(damage(file, pack->size, pack->size / 2, 0, LAMPAR_ERROR_PACK, "digest"));
  lampar_pack *other = NULL;
  LAMPAR_TRY(expect_error(lampar_pack_open_memory(file + 1, pack->size, "m", &other),
                          LAMPAR_ERROR_ARGUMENT, "aligned"));
  LAMPAR_TRY(lampar_pack_open_memory(file, pack->size, "m", &other));
  LAMPAR_TRY(expect(strcmp(lampar_pack_digest(other), lampar_pack_digest(pack)) == 0, "the same"));
  lampar_pack_close(other);
  LAMPAR_TRY(expect_error(lampar_pack_open(NULL, &other), LAMPAR_ERROR_ARGUMENT, "NULL"));
  LAMPAR_TRY(expect_error(lampar_pack_open("/", &other), LAMPAR_ERROR_SYSTEM, "not a file"));
  return expect_error(lampar_pack_open("/absent", &other), LAMPAR_ERROR_SYSTEM, "opened");
}

/* ---- kernels of one rank, which apply an epilogue to a sum of NCCL's ---- */

/* The emulated device keeps a file open for each kernel that is loaded. */
static size_t loaded_kernels(void) {
  size_t count = 0;
  DIR *const folder = opendir("/proc/self/fd");
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    char path[PATH_BYTES] = "";
    const ssize_t length = readlinkat(dirfd(folder), entry->d_name, path, sizeof path - 1);
    count += length > 0 && strstr(path, "lampar-emu-kernel") != NULL;
  }
  if (folder != NULL) closedir(folder);
  return count;
}

static lampar_status kernels_freed(lampar_ranks *ranks, lampar_pack *pack) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  LAMPAR_TRY(expect(loaded_kernels() == 0, "no kernel before a group"));
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, 1, &config));
  LAMPAR_TRY(expect(loaded_kernels() > 0, "kernels of a group"));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  return expect(loaded_kernels() == 0, "no kernel after the group");
}

/* Rank 1 has a pack whose kernels of one rank were damaged after it was opened. */
static lampar_status create_damaged(lampar_rank *rank, void *user) {
  lampar_pack *const good = user, *pack = NULL;
  char *const copy = aligned_alloc(16, (good->size + 15) & ~(size_t)15);
  LAMPAR_TRY(expect(copy != NULL, "memory for a copy"));
  memcpy(copy, good->data, good->size);
  LAMPAR_TRY(lampar_pack_open_owned(copy, good->size, "copy", &pack));
  for (uint32_t i = 0; rank->rank == 1 && i < pack->header->record_count; ++i)
    if (pack->kernels[i].variant.world == 1) copy[pack->kernels[i].record->code_offset] ^= 1;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  const lampar_status status =
      expect_error(lampar_group_create(&group, rank->comm, &pack, 1, &config), LAMPAR_ERROR_DRIVER,
                   "rank 1, step epilogues after NCCL: ");
  lampar_pack_close(pack);
  return status;
}

static lampar_status kernels_damaged(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  LAMPAR_TRY(lampar_ranks_run(ranks, create_damaged, pack));
  return expect(loaded_kernels() == 0, "nothing is left of the groups");
}

/* ---- the log ---- */

static lampar_status log_of(lampar_ranks *ranks, lampar_pack *pack, const char *level,
                            const char *pattern) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  setenv("LAMPAR_DEBUG", level, 1);
  setenv("LAMPAR_DEBUG_FILE", pattern, 1);
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, 1, &config));
  return lampar_ranks_close_group(ranks);
}

static lampar_status logs(lampar_ranks *ranks, lampar_pack *pack) {
  char folder[] = "/tmp/lampar-log-XXXXXX", pattern[PATH_BYTES], path[PATH_BYTES], host[64] = "";
  char text[4096] = "";
  LAMPAR_TRY(expect(mkdtemp(folder) != NULL, "a folder for the log"));
  gethostname(host, sizeof host - 1);
  snprintf(pattern, sizeof pattern, "%s/%%h-%%p", folder);
  snprintf(path, sizeof path, "%s/%s-%ld", folder, host, (long)getpid());
  lampar_status status = log_of(ranks, pack, "info", pattern);
  if (status == LAMPAR_OK) status = log_of(ranks, pack, "loud", pattern);
  if (status == LAMPAR_OK) status = log_of(ranks, pack, "warn", "/absent/file");
  FILE *file = fopen(path, "r");
  if (file != NULL) {
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
  }
  unlink(path);
  rmdir(folder);
  LAMPAR_TRY(status);
  LAMPAR_TRY(expect(strstr(text, "lampar info rank 1: ") != NULL, "a line of rank 1"));
  return expect(strstr(text, lampar_reason_string(LAMPAR_REASON_NOT_ENABLED)) != NULL, text);
}

/* ---- the device ---- */

static lampar_status open_with(const char *name, const char *value) {
  lampar_driver driver;
  setenv(name, value, 1);
  return lampar_driver_open(&driver);
}

static lampar_status devices(lampar_ranks *ranks, lampar_pack *pack) {
  (void)ranks, (void)pack;
  lampar_driver driver;
  LAMPAR_TRY(expect_error(open_with("LAMPAR_EMU_SEED", "x"), LAMPAR_ERROR_DRIVER, "cuInit"));
  LAMPAR_TRY(expect_error(open_with("LAMPAR_EMU_LIBRARY", "/absent"), LAMPAR_ERROR_DRIVER,
                          "/absent cannot be loaded"));
  LAMPAR_TRY(expect_error(open_with("LAMPAR_DEVICE", "gpu"), LAMPAR_ERROR_ARGUMENT, "emu"));
  setenv("LAMPAR_DEVICE", "emu", 1);
  unsetenv("LAMPAR_EMU_SEED");
  unsetenv("LAMPAR_EMU_LIBRARY");
  LAMPAR_TRY(lampar_driver_open(&driver)); /* from the folder of this program */
  return expect(strstr(driver.library.path, "liblampar-emu.so") != NULL, driver.library.path);
}

static const struct {
  const char *spec, *name;
  lampar_status (*run)(lampar_ranks *, lampar_pack *);
} cases[] = {
    {"emu", "no-peer-access", no_peer_access},
    {"emu", "no-world", no_world},
    {"emu", "no-arch", no_arch},
    {"emu", "query", query},
    {"emu", "kernel-names", kernel_names},
    {"emu", "kernel-names-shared", kernel_names_shared},
    {"emu", "refusals", refusals},
    {"emu", "roles", roles},
    {"emu", "creators-at-once", creators_at_once},
    {"emu", "late-in-nccl", late_in_nccl},
    {"emu", "late-in-process", late_in_process},
    {"emu", "packs", packs},
    {"fused", "kernels-freed", kernels_freed},
    {"fused", "kernels-damaged", kernels_damaged},
    {"emu", "logs", logs},
    {"emu", "devices", devices},
};

int main(int argc, char **argv) {
  lampar_pack *pack = NULL;
  lampar_ranks *ranks = NULL;
  size_t chosen = 0;
  const size_t count = sizeof cases / sizeof cases[0];
  if (argc == 3 && strcmp(argv[1], "--list") == 0) {
    for (size_t i = 0; i < count; ++i)
      if (strcmp(cases[i].spec, argv[2]) == 0) printf("%s\n", cases[i].name);
    return 0;
  }
  while (argc == 3 && chosen < count && strcmp(cases[chosen].name, argv[2]) != 0) ++chosen;
  if (argc != 3 || chosen == count) {
    fprintf(stderr, "usage: groups_test PACK CASE\n");
    return 2;
  }
  setenv("LAMPAR_DEVICE", "emu", 1);
  if (cases[chosen].run == no_peer_access) setenv("LAMPAR_EMU_P2P", "0", 1);
  if (cases[chosen].run == kernel_names_shared) setenv("LAMPAR_EMU_DEVICES", "1", 1);
  lampar_status status = lampar_pack_open(argv[1], &pack);
  if (status == LAMPAR_OK) status = lampar_ranks_create(0, ABSENT, 0, &ranks);
  if (status == LAMPAR_OK) status = cases[chosen].run(ranks, pack);
  printf("%s: %s\n", argv[2], status == LAMPAR_OK ? "right" : lampar_last_error());
  if (ranks) lampar_ranks_close_group(ranks);
  if (ranks) lampar_ranks_disconnect(ranks);
  lampar_ranks_destroy(ranks);
  lampar_pack_close(pack);
  return status != LAMPAR_OK;
}
