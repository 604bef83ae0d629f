/* Creations: refused ones, second ones, many at once, and ranks that do not come. */
#include "groups.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "group/group_state.h"

enum {
  LATE_MS = 200, /* until a rank that does not come is given up */
  EXCHANGE_MS = 30000,
};

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

lampar_status refusals(lampar_ranks *ranks, lampar_pack *pack) {
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

lampar_status roles(lampar_ranks *ranks, lampar_pack *pack) {
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

lampar_status creators_at_once(lampar_ranks *ranks, lampar_pack *pack) {
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

lampar_status late_in_nccl(lampar_ranks *ranks, lampar_pack *pack) {
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

lampar_status late_in_process(lampar_ranks *ranks, lampar_pack *pack) {
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
