#include "group/peers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static bool is_same_process(const lampar_rank_facts *a, const lampar_rank_facts *b) {
  return memcmp(a->process, b->process, sizeof a->process) == 0;
}

lampar_status lampar_peers_address(lampar_workspace_address *address, const lampar_driver *driver,
                                   const lampar_workspace *workspace,
                                   const lampar_rank_facts *facts, int world, int rank) {
  address->pointer = workspace->base;
  bool crosses = false;
  for (int r = 0; r < world; ++r) crosses |= !is_same_process(&facts[r], &facts[rank]);
  if (!crosses) return LAMPAR_OK;
  return lampar_driver_check(driver, driver->ipc_get_handle(&address->handle, workspace->base),
                             "cuIpcGetMemHandle");
}

static lampar_status open_within_process(const lampar_driver *driver, const lampar_rank_facts *own,
                                         const lampar_rank_facts *peer) {
  if (own->context == peer->context) return LAMPAR_OK;
  struct CUctx_st *context = (struct CUctx_st *)(uintptr_t)peer->context;
  const int result = driver->context_enable_peer(context, 0);
  if (result == LAMPAR_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return LAMPAR_OK;
  return lampar_driver_check(driver, result, "cuCtxEnablePeerAccess");
}

lampar_status lampar_peers_open(lampar_peers *peers, const lampar_driver *driver,
                                const lampar_workspace_address *addresses,
                                const lampar_rank_facts *facts, int world, int rank) {
  for (int r = 0; r < world; ++r) {
    if (is_same_process(&facts[r], &facts[rank])) {
      LAMPAR_TRY(open_within_process(driver, &facts[rank], &facts[r]));
      peers->base[r] = addresses[r].pointer;
      continue;
    }
    char what[128];
    snprintf(what, sizeof what,
             "cuIpcOpenMemHandle for rank %d (containers must share the IPC and PID namespaces)",
             r);
    LAMPAR_TRY(lampar_driver_check(driver,
                                   driver->ipc_open_handle(&peers->base[r], addresses[r].handle,
                                                           LAMPAR_IPC_LAZY_ENABLE_PEER_ACCESS),
                                   what));
    peers->imported |= 1u << r;
  }
  return LAMPAR_OK;
}

void lampar_peers_close(lampar_peers *peers, const lampar_driver *driver) {
  for (int r = 0; r < LAMPAR_WORLD_MAX; ++r)
    if (peers->imported & (1u << r)) driver->ipc_close_handle(peers->base[r]);
  *peers = (lampar_peers){0};
}
