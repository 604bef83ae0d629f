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

static lampar_status check_arguments(lampar_pack *const *packs, size_t pack_count,
                                     const lampar_group_config *config) {
  if (pack_count > LAMPAR_PACKS_MAX || (pack_count > 0 && packs == NULL))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: %zu packs (0 to %d)",
                       pack_count, LAMPAR_PACKS_MAX);
  for (size_t p = 0; p < pack_count; ++p)
    if (packs[p] == NULL)
      return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: pack %zu is NULL", p);
  if (config->lanes < 1 || config->lanes > LAMPAR_LANES_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "config.lanes is %u (1 to %d)", config->lanes,
                       LAMPAR_LANES_MAX);
  if (config->kernels != NULL && strlen(config->kernels) >= LAMPAR_NAME_BYTES)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "config.kernels or LAMPAR_KERNEL has %zu characters (at most %d)",
                       strlen(config->kernels), LAMPAR_NAME_BYTES - 1);
  return LAMPAR_OK;
}

static lampar_status open_channel(lampar_group *group) {
  static const char activity[] = "group set-up";
  const lampar_group_config *config = &group->config;
  if (config->exchange != NULL) {
    LAMPAR_TRY(lampar_channel_over_exchange(&group->channel, activity, config->exchange,
                                            "config.exchange"));
  } else {
    const uint32_t timeout_ms =
        config->setup_timeout_ms > 0 ? config->setup_timeout_ms : LAMPAR_EXCHANGE_TIMEOUT_MS;
    LAMPAR_TRY(lampar_driver_open(&group->driver));
    LAMPAR_TRY(lampar_nccl_open(&group->nccl));
    LAMPAR_TRY(lampar_channel_over_nccl(&group->channel, activity, &group->driver, &group->nccl,
                                        &group->logger, group->comm, timeout_ms));
  }
  group->config.exchange = NULL; /* copied; the caller's may go away */
  group->rank = group->channel.rank;
  group->world = group->channel.world;
  group->logger.rank = group->rank;
  return LAMPAR_OK;
}

/* Set-up is illegal during a capture; probe now so that the error is specific. */
static lampar_status check_capture(const lampar_driver *driver) {
  int state;
  lampar_device_pointer probe;
  LAMPAR_TRY(lampar_driver_check(driver,
                                 driver->stream_capture_info(NULL, &state, NULL, NULL, NULL, NULL),
                                 "lampar_group_create"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc(&probe, sizeof(uint32_t)),
                                 "lampar_group_create"));
  return lampar_driver_check(driver, driver->memory_free(probe), "lampar_group_create");
}

/* NCCL and the kernels must run on one device. Checked before anything is freed on the context's
 * device: that would wait for the rank whose device it is. */
static lampar_status check_communicator(const lampar_group *group) {
  int ordinal, device;
  LAMPAR_TRY(lampar_nccl_check(&group->nccl, group->nccl.device(group->comm, &ordinal),
                               "ncclCommCuDevice"));
  LAMPAR_TRY(lampar_driver_check(&group->driver, group->driver.device_get(&device, ordinal),
                                 "cuDeviceGet"));
  if (device == group->device) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                     "lampar_group_create: this thread's CUDA context is on device %d, the "
                     "communicator on device %d: set the device first",
                     group->device, device);
}

static lampar_status open_device(lampar_group *group) {
  const lampar_driver *driver = &group->driver;
  if (group->channel.comm == NULL) LAMPAR_TRY(lampar_driver_open(&group->driver));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->context_current(&group->context), "cuCtxGetCurrent"));
  if (group->context == NULL)
    return lampar_fail(
        LAMPAR_ERROR_ARGUMENT,
        "lampar_group_create: this thread has no CUDA context: set the device first");
  LAMPAR_TRY(lampar_driver_check(driver, driver->context_device(&group->device), "cuCtxGetDevice"));
  if (group->comm != NULL && group->channel.comm == NULL)
    LAMPAR_TRY(lampar_nccl_open(&group->nccl));
  if (group->comm != NULL) LAMPAR_TRY(check_communicator(group));
  LAMPAR_TRY(check_capture(driver));
  return lampar_driver_check(
      driver, driver->stream_create(&group->stream, LAMPAR_STREAM_NON_BLOCKING), "cuStreamCreate");
}

/* Everything that must be equal on all ranks and in a second creation. */
static void digest_options(lampar_group *group) {
  const lampar_group_config *c = &group->config;
  const uint64_t options[] = {c->max_rows,       c->workspace_limit,
                              c->lanes,          c->strict != 0,
                              c->watchdog_ms,    c->programmatic_launch != 0,
                              c->enable != 0,    c->contains_expert_parallelism != 0,
                              (uint64_t)c->role, group->comm != NULL};
  const lampar_digest_part parts[] = {{options, sizeof options},
                                      {group->names, strlen(group->names)}};
  lampar_digest_parts(parts, sizeof parts / sizeof parts[0], group->options);
}

static void write_report(lampar_group *group, uint32_t arch) {
  static const char *const roles[] = {[LAMPAR_ROLE_DENSE] = "dense",
                                      [LAMPAR_ROLE_ATTENTION] = "attention",
                                      [LAMPAR_ROLE_MOE] = "moe"};
  const size_t given = (size_t)group->config.role;
  const char *role = given < sizeof roles / sizeof roles[0] ? roles[given] : "unknown role";
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

/* Closes everything, but does not free the struct. */
static lampar_status close_group(lampar_group *group) {
  const lampar_status status = lampar_setup_disable_kernels(group);
  lampar_kernels_free(&group->epilogue_only, &group->driver);
  lampar_channel_close(&group->channel);
  if (group->stream != NULL) group->driver.stream_destroy(group->stream);
  lampar_logger_close(&group->logger);
  return status;
}

/* Sets `*existing` to the group that all ranks already have, or NULL if this one is ready for use.
 */
static lampar_status open_group(lampar_group *group, lampar_pack *const *packs, size_t pack_count,
                                lampar_status own, lampar_group **existing) {
  lampar_group *unused = NULL;
  digest_options(group);
  if (own == LAMPAR_OK) own = open_device(group);
  LAMPAR_TRY(lampar_setup_exchange_facts(group, packs, pack_count, own));
  const lampar_status found = lampar_setup_find_existing(group, existing, &unused);
  lampar_failure failure;
  lampar_failure_save(&failure, found);
  lampar_group_destroy(unused);
  LAMPAR_TRY(lampar_failure_raise(&failure));
  if (*existing != NULL) return LAMPAR_OK;
  LAMPAR_TRY(lampar_setup_exchange_peer_access(group));
  LAMPAR_TRY(lampar_setup_load_epilogues(group, packs, pack_count));
  if (group->verdict.reason != LAMPAR_REASON_NONE) return LAMPAR_OK;
  LAMPAR_TRY(lampar_setup_enable_kernels(group, packs, pack_count));
  if (group->verdict.reason != LAMPAR_REASON_NONE) return lampar_setup_disable_kernels(group);
  return LAMPAR_OK;
}

static lampar_status create(lampar_group *group, lampar_pack *const *packs, size_t pack_count,
                            lampar_status own, lampar_group **existing) {
  lampar_failure failure;
  lampar_failure_save(&failure,
                      own); /* if the channel cannot be opened either, that error is returned */
  lampar_status status = open_channel(group);
  if (status == LAMPAR_OK) {
    lampar_failure_raise(&failure);
    status = open_group(group, packs, pack_count, own, existing);
  }
  if (status == LAMPAR_OK) return LAMPAR_OK;
  lampar_log(&group->logger, LAMPAR_LOG_WARN, "no group: %s", lampar_last_error());
  /* The exchange itself may have failed: do not wait long for it again. */
  group->channel.timeout_ms = LAMPAR_EXCHANGE_DESTROY_MS;
  return status;
}

lampar_status lampar_group_create(lampar_group **result, struct ncclComm *comm,
                                  lampar_pack *const *packs, size_t pack_count,
                                  const lampar_group_config *config) {
  if (result == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_create: group is NULL");
  *result = NULL;
  lampar_group_config own_config = LAMPAR_GROUP_CONFIG_INIT;
  LAMPAR_TRY(lampar_sized_read(&own_config, sizeof own_config, config, "lampar_group_config"));
  if (own_config.lanes == 0) own_config.lanes = 1;
  if (lampar_variable_is_set(LAMPAR_VARIABLE_STRICT)) own_config.strict = 1;
  if (own_config.kernels == NULL) own_config.kernels = lampar_variable_text(LAMPAR_VARIABLE_KERNEL);
  if (comm == NULL && own_config.exchange == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_group_create needs an NCCL communicator or config.exchange");

  lampar_group spare = {0}; /* even a rank without memory must send its failure */
  lampar_group *const allocated = calloc(1, sizeof *allocated);
  lampar_group *const group = allocated != NULL ? allocated : &spare;
  group->config = own_config;
  group->comm = comm;
  if (own_config.kernels != NULL)
    snprintf(group->names, sizeof group->names, "%s", own_config.kernels);
  group->config.kernels = NULL; /* copied; the caller's may go away */
  lampar_logger_open(&group->logger, own_config.log, own_config.log_user, 0);
  const lampar_status own = allocated != NULL
                                ? check_arguments(packs, pack_count, &own_config)
                                : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory for a group");
  lampar_status status = create(group, packs, pack_count, own, result);
  if (status == LAMPAR_OK && *result == NULL) {
    write_report(group, group->facts[group->rank].arch);
    lampar_registry_add(group);
    *result = group;
    return LAMPAR_OK;
  }
  lampar_failure failure;
  lampar_failure_save(&failure, status);
  close_group(group);
  free(allocated);
  return lampar_failure_raise(&failure);
}

lampar_status lampar_group_destroy(lampar_group *group) {
  if (group == NULL || !lampar_registry_release(group)) return LAMPAR_OK;
  const lampar_status status = close_group(group);
  free(group);
  return status;
}

const char *lampar_group_report(const lampar_group *group) {
  return group != NULL ? group->report : "no group";
}

int lampar_group_world(const lampar_group *group) {
  return group != NULL ? group->world : 0;
}

int lampar_group_rank(const lampar_group *group) {
  return group != NULL ? group->rank : -1;
}

uint64_t lampar_group_workspace_bytes(const lampar_group *group) {
  return group != NULL ? group->workspace.bytes : 0;
}

lampar_status lampar_group_error(lampar_group *group, lampar_fault *fault) {
  if (group == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_error: group is NULL");
  if (!lampar_workspace_is_faulted(&group->workspace)) return LAMPAR_OK;
  const lampar_fault_record *record = group->workspace.fault;
  const lampar_fault found = {
      .rank = (int)record->rank,
      .source = record->missing != 0 ? __builtin_ctz(record->missing) : -1,
      .missing = record->missing,
      .mailbox = record->mailbox,
      .epoch = record->epoch,
      .kernel = record->kernel < group->kernels.count
                    ? group->kernels.list[record->kernel].packed->record->name
                    : "unknown kernel",
  };
  if (fault != NULL) LAMPAR_TRY(lampar_sized_write(fault, &found, sizeof found, "lampar_fault"));
  return lampar_fail(LAMPAR_ERROR_TIMEOUT,
                     "rank %d timed out waiting for rank %d (missing mask 0x%x), in %s, "
                     "mailbox %u, epoch %u: check that rank, then destroy the group",
                     found.rank, found.source, found.missing, found.kernel, found.mailbox,
                     found.epoch);
}

lampar_status lampar_group_stats(const lampar_group *group, lampar_stats *stats) {
  if (group == NULL) return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_group_stats: group is NULL");
  lampar_stats now = {
      .kernel_calls = atomic_load_explicit(&group->kernel_calls, memory_order_relaxed),
      .kernel_bytes = atomic_load_explicit(&group->kernel_bytes, memory_order_relaxed),
      .nccl_bytes = atomic_load_explicit(&group->nccl_bytes, memory_order_relaxed),
  };
  for (size_t i = 0; i < sizeof now.nccl_calls / sizeof now.nccl_calls[0]; ++i)
    now.nccl_calls[i] = atomic_load_explicit(&group->nccl_calls[i], memory_order_relaxed);
  return lampar_sized_write(stats, &now, sizeof now, "lampar_stats");
}
