/* The other ranks' workspaces, as this rank reaches them: plain pointers within a process, CUDA IPC
 * between processes. */
#ifndef LAMPAR_PEERS_H
#define LAMPAR_PEERS_H

#include "group/facts.h"
#include "group/workspace.h"

/* The address of a rank's workspace, as it sends it to the others. */
typedef struct lampar_workspace_address {
  uint64_t pointer; /* valid in the rank's own process */
  lampar_ipc_handle handle;
} lampar_workspace_address;

typedef struct lampar_peers {
  lampar_device_pointer base[LAMPAR_WORLD_MAX]; /* the own one included */
  uint32_t imported;                            /* bit r: opened from a handle */
} lampar_peers;

/* Makes the handle only if some rank is in another process. */
lampar_status lampar_peers_address(lampar_workspace_address *address, const lampar_driver *driver,
                                   const lampar_workspace *workspace,
                                   const lampar_rank_facts *facts, int world, int rank);

lampar_status lampar_peers_open(lampar_peers *peers, const lampar_driver *driver,
                                const lampar_workspace_address *addresses,
                                const lampar_rank_facts *facts, int world, int rank);
void lampar_peers_close(lampar_peers *peers, const lampar_driver *driver);

#endif
