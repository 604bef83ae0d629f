#include "group/workspace.h"

#include <string.h>

#include "base/error.h"

uint64_t lampar_workspace_mailboxes(const lampar_candidates *kernels,
                                    const lampar_group_config *config, uint32_t world) {
  uint64_t most = 0;
  for (size_t i = 0; i < kernels->count; ++i) {
    const lampar_variant *v = kernels->variants[i];
    uint64_t mailboxes = lampar_variant_max_mailboxes(v);
    if (v->hidden > 0 && config->max_rows > 0 && config->max_rows < v->max_rows)
      mailboxes = lampar_variant_mailboxes(v, config->max_rows, v->hidden);
    if (mailboxes > most) most = mailboxes;
  }
  const uint64_t each = config->lanes * lampar_workspace_bytes(1, world);
  if (config->workspace_limit > 0 && most > config->workspace_limit / each)
    most = config->workspace_limit / each;
  return most;
}

void lampar_workspace_plan(lampar_workspace *workspace, uint64_t mailboxes, uint32_t world,
                           uint32_t lanes) {
  *workspace = (lampar_workspace){.mailboxes = mailboxes, .lanes = lanes};
  workspace->lane_bytes = mailboxes * 2 * world * LAMPAR_MAILBOX_BYTES;
  workspace->bytes = lanes * lampar_workspace_bytes(mailboxes, world) + sizeof(uint32_t);
}

lampar_device_pointer lampar_workspace_epochs(const lampar_workspace *workspace, uint32_t lane) {
  return workspace->base + workspace->lanes * workspace->lane_bytes +
         lane * workspace->mailboxes * sizeof(uint32_t);
}

lampar_device_pointer lampar_workspace_flag(const lampar_workspace *workspace) {
  return lampar_workspace_epochs(workspace, workspace->lanes);
}

bool lampar_workspace_is_faulted(const lampar_workspace *workspace) {
  return workspace->fault != NULL &&
         __atomic_load_n(&workspace->fault->state, __ATOMIC_ACQUIRE) != 0;
}

lampar_status lampar_workspace_open(lampar_workspace *workspace, const lampar_driver *driver,
                                    struct CUstream_st *stream) {
  void *host = NULL;
  LAMPAR_TRY(lampar_driver_check(driver, driver->memory_alloc(&workspace->base, workspace->bytes),
                                 "cuMemAlloc for the workspace"));
  LAMPAR_TRY(lampar_driver_check(
      driver,
      driver->host_alloc(&host, sizeof(lampar_fault_record),
                         LAMPAR_MEMHOSTALLOC_DEVICEMAP | LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc for the fault record"));
  workspace->fault = host;
  memset(workspace->fault, 0, sizeof *workspace->fault);
  LAMPAR_TRY(lampar_driver_check(driver,
                                 driver->host_device_pointer(&workspace->fault_device, host, 0),
                                 "cuMemHostGetDevicePointer"));

  const uint64_t slots = workspace->lanes * workspace->lane_bytes;
  LAMPAR_TRY(lampar_driver_check(
      driver,
      driver->memset_d32_async(workspace->base, 0xffffffff, slots / sizeof(uint32_t), stream),
      "cuMemsetD32Async"));
  LAMPAR_TRY(lampar_driver_check(
      driver,
      driver->memset_d32_async(workspace->base + slots, 0,
                               (workspace->bytes - slots) / sizeof(uint32_t), stream),
      "cuMemsetD32Async"));
  return lampar_driver_check(driver, driver->stream_synchronize(stream), "cuStreamSynchronize");
}

void lampar_workspace_close(lampar_workspace *workspace, const lampar_driver *driver) {
  if (workspace->base != 0) driver->memory_free(workspace->base);
  if (workspace->fault != NULL) driver->host_free(workspace->fault);
  *workspace = (lampar_workspace){0};
}
