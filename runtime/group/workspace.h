/* The device memory of one rank: mailboxes and epochs of every lane, and the watchdog's flag. Also
 * the mapped host memory in which a timed-out kernel leaves its record. */
#ifndef LAMPAR_WORKSPACE_H
#define LAMPAR_WORKSPACE_H

#include "cuda/driver.h"
#include "pack/arguments.h"
#include "pack/select.h"

typedef struct lampar_workspace {
  uint64_t mailboxes;  /* of a lane */
  uint64_t lane_bytes; /* of a lane's mailboxes */
  uint32_t lanes;
  uint64_t bytes;             /* of all device memory */
  lampar_device_pointer base; /* lanes' mailboxes, lanes' epochs, flag */
  lampar_fault_record *fault; /* host memory */
  lampar_device_pointer fault_device;
} lampar_workspace;

/* Mailboxes of a lane for the largest call of any kernel, within the config's limits. */
uint64_t lampar_workspace_mailboxes(const lampar_candidates *kernels,
                                    const lampar_group_config *config, uint32_t world);

/* Computes the sizes; allocates nothing. */
void lampar_workspace_plan(lampar_workspace *workspace, uint64_t mailboxes, uint32_t world,
                           uint32_t lanes);

/* Allocates and clears: every mailbox empty, every epoch 0. Returns when that is done. */
lampar_status lampar_workspace_open(lampar_workspace *workspace, const lampar_driver *driver,
                                    struct CUstream_st *stream);
void lampar_workspace_close(lampar_workspace *workspace, const lampar_driver *driver);

lampar_device_pointer lampar_workspace_epochs(const lampar_workspace *workspace, uint32_t lane);
lampar_device_pointer lampar_workspace_flag(const lampar_workspace *workspace);

/* A kernel's wait has timed out, and the record is complete. */
bool lampar_workspace_is_faulted(const lampar_workspace *workspace);

#endif
