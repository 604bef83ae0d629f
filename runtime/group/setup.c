#include "group/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "group/registry.h"
#include "group/self_test.h"

/* The first rank's failure becomes the verdict, unless there is one. */
static lampar_status vote(lampar_group *group, const char *step, lampar_status own,
                          lampar_reason reason) {
  lampar_failure first;
  LAMPAR_TRY(lampar_channel_vote(&group->channel, step, own, &first));
  if (first.status == LAMPAR_OK || group->verdict.reason != LAMPAR_REASON_NONE) return LAMPAR_OK;
  group->verdict.reason = reason;
  snprintf(group->verdict.message, sizeof group->verdict.message, "%.*s",
           (int)sizeof group->verdict.message - 1, first.message);
  return LAMPAR_OK;
}

/* The first rank's failure fails the creation, on all ranks. */
static lampar_status vote_or_fail(lampar_group *group, const char *step, lampar_status own) {
  lampar_failure first;
  LAMPAR_TRY(lampar_channel_vote(&group->channel, step, own, &first));
  return lampar_failure_raise(&first);
}

static void digest_packs(lampar_pack *const *packs, size_t pack_count,
                         uint8_t digest[LAMPAR_DIGEST_BYTES]) {
  lampar_digest_part parts[LAMPAR_PACKS_MAX];
  for (size_t p = 0; p < pack_count; ++p)
    parts[p] = (lampar_digest_part){packs[p]->header->digest, LAMPAR_DIGEST_BYTES};
  lampar_digest_parts(parts, pack_count, digest);
}

static lampar_status read_facts(const lampar_group *group, lampar_pack *const *packs,
                                size_t pack_count, lampar_rank_facts *mine) {
  LAMPAR_TRY(lampar_facts_read(mine, &group->driver, group->context, group->device));
  mine->arch = lampar_kernels_arch(packs, pack_count, mine->capability, (uint32_t)group->world);
  mine->arch_of_any_world = lampar_kernels_arch(packs, pack_count, mine->capability, 0);
  for (size_t p = 0; p < pack_count; ++p) mine->needs_nvlink |= packs[p]->header->needs_nvlink;
  digest_packs(packs, pack_count, mine->packs);
  memcpy(mine->options, group->options, sizeof mine->options);
  mine->is_disabled = lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE);
  mine->is_enabled = group->config.enable != 0;
  mine->contains_expert_parallelism = group->config.contains_expert_parallelism != 0;
  return LAMPAR_OK;
}

lampar_status lampar_setup_exchange_facts(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count, lampar_status own) {
  lampar_rank_facts mine = {0};
  if (own == LAMPAR_OK) own = read_facts(group, packs, pack_count, &mine);
  LAMPAR_TRY(vote_or_fail(group, "start", own));
  LAMPAR_TRY(lampar_channel_gather(&group->channel, "facts", &mine, group->facts, sizeof mine));
  group->verdict = lampar_facts_decide(group->facts, group->world);
  lampar_facts_identity(group->facts, group->world, group->identity);
  return LAMPAR_OK;
}

/* The group that a rank already has, and the number of a new group, which rank 0 chooses. */
typedef struct candidate {
  uint64_t answer; /* lampar_registry_answer */
  uint64_t number, next_number;
} candidate;

lampar_status lampar_setup_find_existing(lampar_group *group, lampar_group **existing,
                                         lampar_group **unused) {
  candidate mine = {.next_number = lampar_registry_number()}, all[LAMPAR_WORLD_MAX];
  *existing = NULL;
  mine.answer = lampar_registry_find(group, unused);
  if (*unused != NULL) mine.number = (*unused)->number;
  LAMPAR_TRY(lampar_channel_gather(&group->channel, "existing groups", &mine, all, sizeof mine));
  bool is_shared = true;
  for (int r = 0; r < group->world; ++r) {
    if (all[r].answer == LAMPAR_REGISTRY_DIFFERENT)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                         "rank %d has a group of the same ranks and role with another config or "
                         "other packs: use that group, or destroy it first",
                         r);
    is_shared =
        is_shared && all[r].answer == LAMPAR_REGISTRY_EQUAL && all[r].number == all[0].number;
  }
  group->number = all[0].next_number;
  if (!is_shared) return LAMPAR_OK;
  *existing = *unused;
  *unused = NULL;
  return LAMPAR_OK;
}

lampar_status lampar_setup_exchange_peer_access(lampar_group *group) {
  lampar_peer_access access = {0}, all[LAMPAR_WORLD_MAX];
  const lampar_status own =
      lampar_peer_access_query(&access, &group->driver, group->device, group->facts, group->world);
  LAMPAR_TRY(vote(group, "peer access", own, LAMPAR_REASON_SETUP_FAILED));
  LAMPAR_TRY(lampar_channel_gather(&group->channel, "peer access", &access, all, sizeof access));
  if (group->verdict.reason == LAMPAR_REASON_NONE)
    group->verdict = lampar_peer_access_decide(all, group->facts, group->world);
  return LAMPAR_OK;
}

static lampar_status load_kernels(lampar_group *group, lampar_kernels *kernels,
                                  uint32_t ranks_on_device) {
  int multiprocessors;
  LAMPAR_TRY(lampar_driver_check(&group->driver,
                                 group->driver.device_attribute(&multiprocessors,
                                                                LAMPAR_DEVICE_MULTIPROCESSOR_COUNT,
                                                                group->device),
                                 "cuDeviceGetAttribute"));
  return lampar_kernels_load(kernels, &group->driver, multiprocessors, ranks_on_device);
}

static lampar_candidates candidates_of(const lampar_kernels *kernels, uint64_t mailboxes) {
  return (lampar_candidates){
      .variants = kernels->variants, .count = kernels->count, .mailboxes = mailboxes};
}

static lampar_status load_epilogue_only(lampar_group *group, lampar_pack *const *packs,
                                        size_t pack_count) {
  const uint32_t arch =
      lampar_kernels_arch(packs, pack_count, group->facts[group->rank].capability, 1);
  LAMPAR_TRY(lampar_kernels_collect(&group->epilogue_only, packs, pack_count, arch, 1, ""));
  LAMPAR_TRY(load_kernels(group, &group->epilogue_only, 1)); /* they do not wait for other ranks */
  group->epilogue_only_candidates = candidates_of(&group->epilogue_only, 0);
  return LAMPAR_OK;
}

lampar_status lampar_setup_load_epilogues(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count) {
  return vote_or_fail(group, "epilogues after NCCL", load_epilogue_only(group, packs, pack_count));
}

static lampar_status prepare(lampar_group *group, lampar_pack *const *packs, size_t pack_count,
                             lampar_self_test *test, lampar_workspace_address *address) {
  const uint32_t arch = group->facts[group->rank].arch;
  LAMPAR_TRY(lampar_kernels_collect(&group->kernels, packs, pack_count, arch,
                                    (uint32_t)group->world, group->names));
  if (group->kernels.count == 0)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "no kernel for %d ranks on this GPU has a name like %s: change LAMPAR_KERNEL "
        "or config.kernels; `lampar inspect PACK` lists the names",
        group->world, group->names);
  LAMPAR_TRY(load_kernels(group, &group->kernels,
                          lampar_facts_ranks_on_device(group->facts, group->world, group->rank)));
  LAMPAR_TRY(lampar_self_test_open(test, &group->driver, &group->kernels));
  const lampar_candidates candidates = candidates_of(&group->kernels, 0);
  const uint64_t mailboxes =
      lampar_workspace_mailboxes(&candidates, &group->config, (uint32_t)group->world);
  if (mailboxes < lampar_variant_mailboxes(&test->kernel->packed->variant, 1, test->elements))
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "config.workspace_limit of %llu bytes is too small even for the self-test: raise it",
        (unsigned long long)group->config.workspace_limit);
  lampar_workspace_plan(&group->workspace, mailboxes, (uint32_t)group->world, group->config.lanes);
  LAMPAR_TRY(lampar_workspace_open(&group->workspace, &group->driver, group->stream));
  for (uint32_t i = 0; i < group->config.lanes; ++i)
    LAMPAR_TRY(lampar_lane_open(&group->lanes[i], &group->driver));
  return lampar_peers_address(address, &group->driver, &group->workspace, group->facts,
                              group->world, group->rank);
}

static void fill_arguments(lampar_group *group) {
  for (uint32_t lane = 0; lane < group->config.lanes; ++lane) {
    lampar_arguments *a = &group->arguments[lane];
    const uint64_t offset = lane * group->workspace.lane_bytes;
    a->rank = (uint32_t)group->rank;
    a->watchdog_ns = UINT64_MAX; /* every call sets the bound of its kernel */
    a->epoch = (uint32_t *)(uintptr_t)lampar_workspace_epochs(&group->workspace, lane);
    a->faulted = (uint32_t *)(uintptr_t)lampar_workspace_flag(&group->workspace);
    a->fault = (lampar_fault_record *)(uintptr_t)group->workspace.fault_device;
    a->own = (void *)(uintptr_t)(group->peers.base[group->rank] + offset);
    for (int r = 0; r < group->world; ++r) a->tail[r] = group->peers.base[r] + offset;
  }
}

lampar_status lampar_setup_enable_kernels(lampar_group *group, lampar_pack *const *packs,
                                          size_t pack_count) {
  lampar_self_test test = {0};
  lampar_workspace_address mine = {0}, all[LAMPAR_WORLD_MAX];
  group->lanes = calloc(group->config.lanes, sizeof *group->lanes);
  group->arguments = calloc(group->config.lanes, sizeof *group->arguments);

  lampar_status own = group->lanes != NULL && group->arguments != NULL
                          ? prepare(group, packs, pack_count, &test, &mine)
                          : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  lampar_status result = vote(group, "workspace", own, LAMPAR_REASON_SETUP_FAILED);
  if (result != LAMPAR_OK || group->verdict.reason != LAMPAR_REASON_NONE) goto out;

  result = lampar_channel_gather(&group->channel, "addresses", &mine, all, sizeof mine);
  if (result != LAMPAR_OK) goto out;
  group->is_exposed = true;
  own = lampar_peers_open(&group->peers, &group->driver, all, group->facts, group->world,
                          group->rank);
  result = vote(group, "peers", own, LAMPAR_REASON_SETUP_FAILED);
  if (result != LAMPAR_OK || group->verdict.reason != LAMPAR_REASON_NONE) goto out;

  fill_arguments(group);
  own = lampar_self_test_run(&test, &group->driver, &group->arguments[0], &group->workspace,
                             group->rank, group->world, group->stream);
  result = vote(group, "self-test", own, LAMPAR_REASON_SELF_TEST);

out:
  lampar_self_test_close(&test, &group->driver);
  group->candidates = candidates_of(&group->kernels, group->workspace.mailboxes);
  return result;
}

lampar_status lampar_setup_disable_kernels(lampar_group *group) {
  lampar_status status = LAMPAR_OK;
  for (uint32_t i = 0; group->lanes != NULL && i < group->config.lanes; ++i) {
    const lampar_status closed = lampar_lane_close(&group->lanes[i], &group->driver);
    if (closed != LAMPAR_OK) status = closed;
  }
  lampar_peers_close(&group->peers, &group->driver);
  bool may_free = true;
  if (group->is_exposed) {
    /* After a fault a rank is missing, and may not arrive here either. */
    if (lampar_workspace_is_faulted(&group->workspace))
      group->channel.timeout_ms = LAMPAR_EXCHANGE_DESTROY_MS;
    char mine = 0, all[LAMPAR_WORLD_MAX];
    may_free =
        lampar_channel_gather(&group->channel, "destroy", &mine, all, sizeof mine) == LAMPAR_OK;
  }
  if (may_free) lampar_workspace_close(&group->workspace, &group->driver);
  else
    lampar_log(
        &group->logger, LAMPAR_LOG_WARN,
        "%s: %llu bytes of workspace stay allocated, because that rank may still write to them",
        lampar_last_error(), (unsigned long long)group->workspace.bytes);
  lampar_kernels_free(&group->kernels, &group->driver);
  group->candidates = (lampar_candidates){0};
  free(group->lanes);
  free(group->arguments);
  group->lanes = NULL;
  group->arguments = NULL;
  group->is_exposed = false;
  return status;
}
