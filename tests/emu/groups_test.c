/* What a program sees of a group, a call, a pack and its own mistakes. On the emulated device:
 * groups_test PACK CASE, exit status 0 if everything is right. --list SPEC: the cases for the pack
 * of that spec. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "group/group_state.h"
#include "pack/pack_read.h"
#include "pack/private_api.h"
#include "verify/ranks.h"

enum {
  HIDDEN = 328,  /* of emu.lua */
  ROWS = 24,     /* the same */
  ABSENT = 5,    /* a world without kernels */
  LATE_MS = 200, /* until a rank that does not come is given up */
  EXCHANGE_MS = 30000,
  PATH_BYTES = 256,
};

static lampar_status expect(bool is_so, const char *what) {
  if (is_so) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "not so: %s (%s)", what, lampar_last_error());
}

/* An error of that status, whose message has that word. */
static lampar_status expect_error(lampar_status got, lampar_status status, const char *word) {
  if (got == status && strstr(lampar_last_error(), word) != NULL) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "expected '%s' and '%s': %s, %s",
                     lampar_status_string(status), word, lampar_status_string(got),
                     lampar_last_error());
}

static lampar_call call_of(uint64_t rows, uint64_t hidden) {
  lampar_call call = LAMPAR_CALL_INIT;
  call.rows = rows;
  call.hidden = hidden;
  call.dtype = LAMPAR_F32;
  return call;
}

static lampar_status expect_reason(lampar_rank *rank, const lampar_call *call,
                                   lampar_reason reason) {
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, call, &answer));
  const bool by_kernel = reason == LAMPAR_REASON_NONE;
  if (answer.reason == reason && (answer.kernel != NULL) == by_kernel &&
      answer.path == (by_kernel ? LAMPAR_PATH_KERNEL : LAMPAR_PATH_NCCL) &&
      answer.message[0] != '\0')
    return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "'%s', expected '%s': %s",
                     lampar_reason_string(answer.reason), lampar_reason_string(reason),
                     answer.message);
}

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

/* ---- kernels chosen by name ---- */

#define PERSISTENT  "ar_oneshot_w2_f32_h328_emu"
#define SINGLE_PASS PERSISTENT "_r5"

static lampar_status open_with_names(lampar_ranks *ranks, lampar_pack *pack, const char *names) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.kernels = names;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  return lampar_ranks_open_group(ranks, &pack, 1, &config);
}

static lampar_status expect_kernel(lampar_ranks *ranks, uint64_t rows, const char *name) {
  lampar_group *group = lampar_ranks_at(ranks, 1)->group;
  const lampar_call call = call_of(rows, HIDDEN);
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(group, &call, &answer));
  if (answer.kernel != NULL && strcmp(answer.kernel, name) == 0) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s takes the call, not %s",
                     answer.kernel != NULL ? answer.kernel : answer.message, name);
}

static lampar_status create_with_other_names(lampar_rank *rank, void *user) {
  lampar_pack *pack = user;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.kernels = rank->rank == 0 ? NULL : "*_f32_*";
  config.exchange = rank->exchange;
  LAMPAR_TRY(lampar_group_create(&group, NULL, &pack, 1, &config));
  const char *report = lampar_group_report(group);
  const lampar_status status = expect(
      strstr(report, "rank 1 differs from rank 0 in the group's config, LAMPAR_KERNEL or") != NULL,
      report);
  lampar_group_destroy(group);
  return status;
}

static lampar_status kernel_names(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(open_with_names(ranks, pack, NULL));
  LAMPAR_TRY(expect_kernel(ranks, 1, SINGLE_PASS));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));

  LAMPAR_TRY(open_with_names(ranks, pack, "*_h328_emu"));
  LAMPAR_TRY(expect_kernel(ranks, 1, PERSISTENT));
  lampar_rank *rank = lampar_ranks_at(ranks, 0);
  const lampar_call flat = call_of(1, 333);
  LAMPAR_TRY(expect_reason(rank, &flat, LAMPAR_REASON_HIDDEN));
  lampar_answer answer = LAMPAR_ANSWER_INIT;
  LAMPAR_TRY(lampar_query(rank->group, &flat, &answer));
  LAMPAR_TRY(expect(strstr(answer.message, "with names like *_h328_emu") != NULL, answer.message));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));

  setenv("LAMPAR_KERNEL", "*_h328_emu", 1);
  LAMPAR_TRY(open_with_names(ranks, pack, NULL));
  LAMPAR_TRY(expect_kernel(ranks, 1, PERSISTENT));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  LAMPAR_TRY(open_with_names(ranks, pack, "*")); /* the field wins over the variable */
  LAMPAR_TRY(expect_kernel(ranks, 1, SINGLE_PASS));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  unsetenv("LAMPAR_KERNEL");

  LAMPAR_TRY(open_with_names(ranks, pack, "*_h4096_*"));
  const char *report = lampar_group_report(lampar_ranks_at(ranks, 1)->group);
  LAMPAR_TRY(
      expect(strstr(report, "no kernel for 2 ranks on this GPU has a name like *_h4096_*") != NULL,
             report));
  LAMPAR_TRY(lampar_ranks_close_group(ranks));
  return lampar_ranks_run(ranks, create_with_other_names, pack);
}

static lampar_status call_too_large(lampar_rank *rank, void *user) {
  (void)user;
  lampar_call call = call_of(5, HIDDEN);
  call.input = call.output = rank; /* never read: the call is refused before */
  return expect_error(lampar_all_reduce(rank->group, &call, rank->stream[0]),
                      LAMPAR_ERROR_NO_KERNEL, "there is no persistent kernel");
}

/* Two ranks on one device: half of it each, and a single-pass kernel alone does not fit. */
static lampar_status kernel_names_shared(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(open_with_names(ranks, pack, SINGLE_PASS));
  return lampar_ranks_run(ranks, call_too_large, NULL);
}

/* ---- creations that are refused ---- */

typedef struct creation {
  lampar_pack *pack;
  lampar_group_config config;
} creation;

static lampar_status refuse(const creation *given, size_t packs, const char *word) {
  lampar_group *group = NULL;
  lampar_pack *const *list = given->pack != NULL ? &given->pack : NULL;
  LAMPAR_TRY(expect_error(lampar_group_create(&group, NULL, list, packs, &given->config),
                          LAMPAR_ERROR_ARGUMENT, word));
  return expect(group == NULL, "a refused creation leaves no group");
}

static lampar_status refuse_all(lampar_rank *rank, void *user) {
  creation good = {user, LAMPAR_GROUP_CONFIG_INIT}, bad;
  LAMPAR_TRY(refuse(&good, 1, "needs an NCCL communicator"));
  good.config.exchange = rank->exchange;
  bad = good, bad.config.size = 0;
  LAMPAR_TRY(refuse(&bad, 1, "size is not set"));
  bad = good, bad.config.lanes = 65;
  LAMPAR_TRY(refuse(&bad, 1, "config.lanes"));
  char names[300] = "";
  memset(names, '*', sizeof names - 1);
  bad = good, bad.config.kernels = names;
  LAMPAR_TRY(refuse(&bad, 1, "LAMPAR_KERNEL has 299 characters (at most 191)"));
  lampar_exchange exchange = *rank->exchange;
  bad = good, bad.config.exchange = &exchange, exchange.rank = rank->world;
  LAMPAR_TRY(refuse(&bad, 1, "config.exchange: rank"));
  exchange = *rank->exchange, exchange.world = 17;
  LAMPAR_TRY(refuse(&bad, 1, "1 to 16 ranks"));
  exchange = *rank->exchange, exchange.size = 0;
  LAMPAR_TRY(refuse(&bad, 1, "config.exchange: its size is not set"));
  exchange = *rank->exchange, exchange.all_gather = NULL;
  LAMPAR_TRY(refuse(&bad, 1, "config.exchange: all_gather is NULL"));
  LAMPAR_TRY(refuse(&good, 17, "17 packs"));
  bad = good, bad.pack = NULL;
  LAMPAR_TRY(refuse(&bad, 1, "1 packs"));

  struct {
    lampar_group_config known;
    uint64_t later;
  } longer = {good.config, 1};
  lampar_group *group = NULL;
  longer.known.size = sizeof longer;
  LAMPAR_TRY(expect_error(lampar_group_create(&group, NULL, NULL, 0, &longer.known),
                          LAMPAR_ERROR_ARGUMENT, "update the library"));
  LAMPAR_TRY(expect_error(lampar_group_create(NULL, NULL, NULL, 0, &good.config),
                          LAMPAR_ERROR_ARGUMENT, "group is NULL"));
  rank->driver->context_set_current(NULL);
  const lampar_status status = refuse(&good, 1, "no CUDA context");
  rank->driver->context_set_current(rank->context);
  return status;
}

static lampar_status refusals(lampar_ranks *ranks, lampar_pack *pack) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.workspace_limit = 1024;
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_run(ranks, refuse_all, pack));
  /* Too small a workspace is found by set-up: a group without kernels. */
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, 1, &config));
  const char *report = lampar_group_report(lampar_ranks_at(ranks, 1)->group);
  return expect(strstr(report, "workspace_limit of 1024 bytes is too small") != NULL, report);
}

/* ---- second creations ---- */

static lampar_status create_again(lampar_rank *rank, lampar_pack *pack, lampar_role role,
                                  uint32_t lanes, lampar_group **group) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.role = role;
  config.lanes = lanes;
  config.exchange = rank->exchange;
  return lampar_group_create(group, NULL, &pack, 1, &config);
}

/* Each role has a group of its own, with its statistics; within a role a group is shared. */
static lampar_status create_roles(lampar_rank *rank, void *user) {
  enum { ROLES = 3 };
  static const lampar_role roles[ROLES] = {LAMPAR_ROLE_DENSE, LAMPAR_ROLE_ATTENTION,
                                           LAMPAR_ROLE_MOE};
  static const char *const names[ROLES] = {"dense group", "attention group", "moe group"};
  lampar_group *first[ROLES] = {0}, *again = NULL;
  for (int i = 0; i < ROLES; ++i) {
    LAMPAR_TRY(create_again(rank, user, roles[i], 1, &first[i]));
    const char *report = lampar_group_report(first[i]);
    LAMPAR_TRY(expect(strncmp(report, names[i], strlen(names[i])) == 0, report));
    LAMPAR_TRY(expect(strstr(report, " kernels for emu") != NULL, report));
  }
  LAMPAR_TRY(expect(first[0] != first[1] && first[0] != first[2] && first[1] != first[2],
                    "a group for each role"));
  for (int i = 0; i < ROLES; ++i) {
    LAMPAR_TRY(create_again(rank, user, roles[i], 1, &again));
    LAMPAR_TRY(expect(again == first[i], "the same group for the same role"));
    LAMPAR_TRY(lampar_group_destroy(again));
  }
  LAMPAR_TRY(expect_error(create_again(rank, user, LAMPAR_ROLE_MOE, 2, &again),
                          LAMPAR_ERROR_ARGUMENT,
                          "rank 0 has a group of the same ranks and role with another config"));
  LAMPAR_TRY(expect(again == NULL, "a refused creation leaves no group"));
  for (int i = 0; i < ROLES; ++i) LAMPAR_TRY(lampar_group_destroy(first[i]));
  return LAMPAR_OK;
}

static lampar_status roles(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  return lampar_ranks_run(ranks, create_roles, pack);
}

/* Threads that create and destroy the same group at once, over exchanges of their own, as the
 * communicators of an engine do. */
enum { CREATORS = 3, CREATIONS = 12 };

typedef struct creators {
  lampar_pack *pack;
  lampar_local_exchange *locals[CREATORS][CREATIONS]; /* a group keeps that of its creation */
} creators;

typedef struct creator {
  lampar_rank *rank;
  lampar_pack *pack;
  lampar_local_exchange *const *locals;
  lampar_failure failure;
} creator;

static lampar_status create_often(const creator *c) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  LAMPAR_TRY(lampar_rank_check(c->rank, c->rank->driver->context_set_current(c->rank->context),
                               "cuCtxSetCurrent"));
  for (int i = 0; i < CREATIONS; ++i) {
    lampar_group *group = NULL;
    uint64_t all[LAMPAR_WORLD_MAX];
    const lampar_exchange *exchange = lampar_local_exchange_rank(c->locals[i], c->rank->rank);
    config.exchange = exchange;
    LAMPAR_TRY(lampar_group_create(&group, NULL, &c->pack, 1, &config));
    const char *report = lampar_group_report(group);
    LAMPAR_TRY(expect(strstr(report, " kernels for emu") != NULL, report));
    const int gathered =
        exchange->all_gather(exchange->user, &group->number, all, sizeof group->number);
    LAMPAR_TRY(expect(gathered == 0 && all[0] == all[1], "ranks of one group"));
    LAMPAR_TRY(lampar_group_destroy(group));
  }
  return LAMPAR_OK;
}

static void *run_creator(void *user) {
  creator *c = user;
  lampar_failure_save(&c->failure, create_often(c));
  return NULL;
}

static lampar_status start_creators(lampar_rank *rank, void *user) {
  const creators *given = user;
  creator list[CREATORS];
  pthread_t threads[CREATORS];
  for (int i = 0; i < CREATORS; ++i) {
    list[i] = (creator){.rank = rank, .pack = given->pack, .locals = given->locals[i]};
    LAMPAR_TRY(expect(pthread_create(&threads[i], NULL, run_creator, &list[i]) == 0, "a thread"));
  }
  for (int i = 0; i < CREATORS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < CREATORS; ++i) LAMPAR_TRY(lampar_failure_raise(&list[i].failure));
  return LAMPAR_OK;
}

static lampar_status creators_at_once(lampar_ranks *ranks, lampar_pack *pack) {
  creators given = {.pack = pack};
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  for (int i = 0; i < CREATORS * CREATIONS; ++i)
    LAMPAR_TRY(
        lampar_local_exchange_create(2, EXCHANGE_MS, &given.locals[i / CREATIONS][i % CREATIONS]));
  const lampar_status status = lampar_ranks_run(ranks, start_creators, &given);
  for (int i = 0; i < CREATORS * CREATIONS; ++i)
    lampar_local_exchange_destroy(given.locals[i / CREATIONS][i % CREATIONS]);
  return status;
}

/* ---- ranks that do not come ---- */

static lampar_status come_alone(lampar_rank *rank, void *user) {
  lampar_pack *pack = user;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  if (rank->rank > 0) return LAMPAR_OK;
  LAMPAR_TRY(expect(lampar_group_create(&group, rank->comm, &pack, 1, &config) != LAMPAR_OK,
                    "a rank alone gets an error"));
  return expect(strstr(lampar_last_error(), "step \"start\", rank 0 of 2") != NULL,
                lampar_last_error());
}

static lampar_status late_in_nccl(lampar_ranks *ranks, lampar_pack *pack) {
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  return lampar_ranks_run(ranks, come_alone, pack);
}

static lampar_status come_late(lampar_rank *rank, void *user) {
  creation *given = user;
  lampar_group *group = NULL;
  lampar_group_config config = given->config;
  if (rank->rank > 0) return LAMPAR_OK;
  return expect_error(lampar_group_create(&group, NULL, &given->pack, 1, &config),
                      LAMPAR_ERROR_SYSTEM, "step \"start\", rank 0 of 2: the exchange returned");
}

static lampar_status late_in_process(lampar_ranks *ranks, lampar_pack *pack) {
  creation given = {pack, LAMPAR_GROUP_CONFIG_INIT};
  lampar_local_exchange *local = NULL;
  LAMPAR_TRY(
      expect_error(lampar_local_exchange_create(0, LATE_MS, &local), LAMPAR_ERROR_ARGUMENT, "0"));
  LAMPAR_TRY(lampar_ranks_set_world(ranks, 2));
  LAMPAR_TRY(lampar_local_exchange_create(2, LATE_MS, &local));
  given.config.exchange = lampar_local_exchange_rank(local, 0);
  const lampar_status status = lampar_ranks_run(ranks, come_late, &given);
  lampar_local_exchange_destroy(local);
  return status;
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
