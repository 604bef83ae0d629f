#include "group/group_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/sized.h"
#include "group/registry.h"
#include "group/setup.h"
#include "pack/arch.h"

enum { PACKS_MAX = 16, LANES_MAX = 64 };

static lampar_status check_arguments(struct ncclComm *comm, lampar_pack *const *packs,
                                     size_t pack_count, const lampar_group_config *config) {
  if (pack_count > PACKS_MAX || (pack_count > 0 && packs == NULL))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: %zu packs (0 to %d)",
                       pack_count, PACKS_MAX);
  for (size_t p = 0; p < pack_count; ++p)
    if (packs[p] == NULL)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: pack %zu is NULL", p);
  if (config->lanes < 1 || config->lanes > LANES_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "config.lanes is %u (1 to %d)", config->lanes,
                       LANES_MAX);
  if (comm == NULL && config->exchange == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_group_create needs an NCCL communicator or config.exchange");
  return LAMPAR_OK;
}

static lampar_status open_device(lampar_group *group) {
  const lampar_driver *driver = &group->driver;
  LAMPAR_TRY(lampar_driver_open(&group->driver));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->context_current(&group->context), "cuCtxGetCurrent"));
  if (group->context == NULL)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "lampar_group_create: this thread has no CUDA context: set the device first");
  LAMPAR_TRY(lampar_driver_check(driver, driver->context_device(&group->device), "cuCtxGetDevice"));

  /* A capture forbids what set-up does. Tried here, where it is told from other failures. */
  int state;
  LAMPAR_TRY(lampar_driver_check(driver,
                                 driver->stream_capture_info(NULL, &state, NULL, NULL, NULL, NULL),
                                 "lampar_group_create"));
  lampar_device_pointer probe;
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc(&probe, sizeof(uint32_t)),
                                 "lampar_group_create"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_free(probe), "lampar_group_create"));
  return lampar_driver_check(
      driver, driver->stream_create(&group->stream, LAMPAR_STREAM_NON_BLOCKING), "cuStreamCreate");
}

static lampar_status open_exchange(lampar_group *group, struct ncclComm *comm) {
  group->comm = comm;
  if (comm != NULL) LAMPAR_TRY(lampar_nccl_open(&group->nccl));
  if (group->config.exchange == NULL)
    LAMPAR_TRY(lampar_nccl_exchange_open(&group->nccl_exchange, &group->driver, &group->nccl,
                                         &group->logger, comm, &group->exchange));
  group->rank = group->exchange.rank;
  group->world = group->exchange.world;
  group->logger.rank = group->rank;
  if (group->world < 1 || group->world > LAMPAR_WORLD_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "a group has 1 to %d ranks, not %d", LAMPAR_WORLD_MAX,
                       group->world);
  return LAMPAR_OK;
}

/* What must be equal on all ranks, and for a second creation. */
static void digest_options(lampar_group *group) {
  const lampar_group_config *c = &group->config;
  const uint64_t options[] = {c->max_rows,        c->workspace_limit,
                              c->lanes,           c->strict != 0,
                              c->watchdog_ms,     c->programmatic_launch != 0,
                              c->enable != 0,     c->contains_expert_parallelism != 0,
                              group->comm != NULL};
  lampar_digest(options, sizeof options, group->options);
}

static void write_report(lampar_group *group, uint32_t arch) {
  static const char *const roles[] = {"dense", "attention", "moe"};
  const char *role = (unsigned)group->config.role < 3 ? roles[group->config.role] : "unknown role";
  if (group->verdict.reason != LAMPAR_REASON_NONE)
    snprintf(group->report, sizeof group->report,
             "%s group, rank %d of %d: every call goes to NCCL: %s (%s)", role, group->rank,
             group->world, lampar_reason_string(group->verdict.reason), group->verdict.message);
  else
    snprintf(
        group->report, sizeof group->report,
        "%s group, rank %d of %d: %zu kernels for %s, %llu mailboxes in %u lanes, %llu bytes of "
        "workspace, programmatic launch %s",
        role, group->rank, group->world, group->kernels.count, lampar_arch_name(arch),
        (unsigned long long)group->workspace.mailboxes, group->config.lanes,
        (unsigned long long)group->workspace.bytes,
        group->config.programmatic_launch ? "on" : "off");
  lampar_log(&group->logger, LAMPAR_LOG_INFO, "%s", group->report);
}

static lampar_status free_group(lampar_group *group) {
  lampar_status status = LAMPAR_OK;
  if (group->driver.init != NULL) {
    status = lampar_setup_disable_kernels(group);
    lampar_kernels_free(&group->epilogue_only, &group->driver);
  }
  if (group->nccl_exchange.driver != NULL) lampar_nccl_exchange_close(&group->nccl_exchange);
  if (group->stream != NULL) group->driver.stream_destroy(group->stream);
  lampar_logger_close(&group->logger);
  free(group);
  return status;
}

static lampar_status open_group(lampar_group *group, struct ncclComm *comm,
                                lampar_pack *const *packs, size_t pack_count, bool *reuse) {
  LAMPAR_TRY(open_device(group));
  LAMPAR_TRY(open_exchange(group, comm));
  digest_options(group);
  LAMPAR_TRY(lampar_setup_exchange_facts(group, packs, pack_count, reuse));
  if (*reuse) return LAMPAR_OK;
  LAMPAR_TRY(lampar_setup_alone(group, packs, pack_count));
  if (group->verdict.reason != LAMPAR_REASON_NONE) return LAMPAR_OK;
  LAMPAR_TRY(lampar_setup_enable_kernels(group, packs, pack_count));
  if (group->verdict.reason != LAMPAR_REASON_NONE) return lampar_setup_disable_kernels(group);
  return LAMPAR_OK;
}

lampar_status lampar_group_create(lampar_group **result, struct ncclComm *comm,
                                  lampar_pack *const *packs, size_t pack_count,
                                  const lampar_group_config *config) {
  if (result == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: group is NULL");
  *result = NULL;
  lampar_group_config own = LAMPAR_GROUP_CONFIG_INIT;
  LAMPAR_TRY(lampar_sized_read(&own, sizeof own, config, "lampar_group_config"));
  if (own.lanes == 0) own.lanes = 1;
  if (lampar_variable_is_set(LAMPAR_VARIABLE_STRICT)) own.strict = 1;
  LAMPAR_TRY(check_arguments(comm, packs, pack_count, &own));

  lampar_group *group = calloc(1, sizeof *group);
  if (group == NULL) return lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a group");
  group->config = own;
  if (own.exchange != NULL) {
    const lampar_status copied =
        lampar_exchange_copy(own.exchange, "config.exchange", &group->exchange);
    if (copied != LAMPAR_OK) {
      free(group);
      return copied;
    }
    group->config.exchange = &group->exchange; /* the caller's may go away */
  }
  lampar_logger_open(&group->logger, own.log, own.log_user, 0);
  bool reuse = false;
  const lampar_status status = open_group(group, comm, packs, pack_count, &reuse);
  if (status != LAMPAR_OK) {
    lampar_log(&group->logger, LAMPAR_LOG_WARN, "no group: %s", lampar_last_error());
    group->nccl_exchange.deadline_s = 10; /* the exchange may be what failed */
    char message[1024];
    snprintf(message, sizeof message, "%s", lampar_last_error());
    free_group(group);
    return lampar_fail(status, "%s", message);
  }
  if (reuse) {
    *result = lampar_registry_acquire(group);
    free_group(group);
    return LAMPAR_OK;
  }
  write_report(group, group->facts[group->rank].arch);
  lampar_registry_add(group);
  *result = group;
  return LAMPAR_OK;
}

lampar_status lampar_group_destroy(lampar_group *group) {
  if (group == NULL || !lampar_registry_drop(group)) return LAMPAR_OK;
  return free_group(group);
}

const char *lampar_group_report(const lampar_group *group) {
  return group->report;
}

int lampar_group_world(const lampar_group *group) {
  return group->world;
}

int lampar_group_rank(const lampar_group *group) {
  return group->rank;
}

uint64_t lampar_group_workspace_bytes(const lampar_group *group) {
  return group->workspace.bytes;
}

lampar_status lampar_group_error(lampar_group *group, lampar_fault *fault) {
  if (!lampar_workspace_is_faulted(&group->workspace)) return LAMPAR_OK;
  const lampar_fault_record *record = group->workspace.fault;
  const lampar_fault found = {
      .rank = (int)record->rank,
      .source = record->missing != 0 ? __builtin_ctz(record->missing) : -1,
      .missing = record->missing,
      .mailbox = record->mailbox,
      .epoch = record->epoch,
      .kernel = record->kernel < group->kernels.count
                    ? group->kernels.list[record->kernel].record->name
                    : "unknown kernel",
  };
  if (fault != NULL) LAMPAR_TRY(lampar_sized_write(fault, &found, sizeof found, "lampar_fault"));
  return lampar_fail(
      LAMPAR_ERROR_TIMEOUT,
      "rank %d waited in vain for rank %d (mask of all that are missing: 0x%x), in %s, "
      "mailbox %u, epoch %u: see what became of that rank, and destroy the group",
      found.rank, found.source, found.missing, found.kernel, found.mailbox, found.epoch);
}

lampar_status lampar_group_stats(const lampar_group *group, lampar_stats *stats) {
  lampar_stats now = {
      .kernel_calls = atomic_load_explicit(&group->kernel_calls, memory_order_relaxed),
      .kernel_bytes = atomic_load_explicit(&group->kernel_bytes, memory_order_relaxed),
      .nccl_bytes = atomic_load_explicit(&group->nccl_bytes, memory_order_relaxed),
  };
  for (size_t i = 0; i < sizeof now.nccl_calls / sizeof now.nccl_calls[0]; ++i)
    now.nccl_calls[i] = atomic_load_explicit(&group->nccl_calls[i], memory_order_relaxed);
  return lampar_sized_write(stats, &now, sizeof now, "lampar_stats");
}
