/* The state of a group on one rank. */
#ifndef LAMPAR_GROUP_STATE_H
#define LAMPAR_GROUP_STATE_H

#include <stdatomic.h>

#include "exchange/exchange.h"
#include "group/facts.h"
#include "group/kernels.h"
#include "group/lane.h"
#include "group/launch.h"
#include "group/peers.h"
#include "group/workspace.h"

struct lampar_group {
  lampar_group *next; /* in the registry */
  int references;
  uint64_t number; /* equal on all ranks, unique among groups of these ranks */
  uint8_t identity[LAMPAR_DIGEST_BYTES]; /* of the set of ranks */
  uint8_t options[LAMPAR_DIGEST_BYTES];  /* of the config */

  lampar_group_config config;
  char names[LAMPAR_NAME_BYTES]; /* glob of the kernels that are used; "": all */
  lampar_logger logger;
  lampar_driver driver;
  lampar_nccl nccl; /* only with a communicator */
  struct ncclComm *comm;
  lampar_channel channel; /* to the other ranks, for set-up and destruction */
  struct CUctx_st *context;
  int device, rank, world;
  struct CUstream_st *stream; /* for set-up */
  lampar_rank_facts facts[LAMPAR_WORLD_MAX];

  lampar_verdict verdict; /* why all calls go to NCCL; NONE if kernels are used */
  lampar_kernels kernels;
  lampar_candidates candidates;
  lampar_kernels epilogue_only; /* of world 1: epilogues after an NCCL call */
  lampar_candidates epilogue_only_candidates;
  lampar_workspace workspace;
  lampar_peers peers;
  bool is_exposed;             /* other ranks have the workspace's address */
  lampar_lane *lanes;          /* [config.lanes] */
  lampar_arguments *arguments; /* [config.lanes]; the fields that do not depend on the call */

  char report[1024];
  char message[LAMPAR_MESSAGE_BYTES]; /* of the last lampar_query */
  uint32_t logged;                    /* bit r: a fallback for reason r was logged */
  _Atomic uint64_t kernel_calls, kernel_bytes, nccl_bytes;
  _Atomic uint64_t nccl_calls[LAMPAR_REASONS_MAX];
};

#endif
