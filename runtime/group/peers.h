/* The addresses of all ranks' workspaces: plain pointers within a process, CUDA IPC between
 * processes. */
#ifndef LAMPAR_PEERS_H
#define LAMPAR_PEERS_H

#include "group/facts.h"
#include "group/workspace.h"

/* The address of a workspace, as ranks exchange it. */
typedef struct lampar_workspace_address {
  uint64_t pointer; /* valid in the process of that rank */
  lampar_ipc_handle handle;
} lampar_workspace_address;

typedef struct lampar_peers {
  lampar_device_pointer base[LAMPAR_WORLD_MAX]; /* including this rank */
  uint32_t imported;                            /* bit r: opened from a handle */
} lampar_peers;

/* Creates the handle only if some rank is in another process. */
lampar_status lampar_peers_address(lampar_workspace_address *address, const lampar_driver *driver,
                                   const lampar_workspace *workspace,
                                   const lampar_rank_facts *facts, int world, int rank);

lampar_status lampar_peers_open(lampar_peers *peers, const lampar_driver *driver,
                                const lampar_workspace_address *addresses,
                                const lampar_rank_facts *facts, int world, int rank);
void lampar_peers_close(lampar_peers *peers, const lampar_driver *driver);

#endif
