/* What each rank knows about itself, and the verdict. All ranks reach the same verdict, because
 * they compute it from the same gathered facts. */
#ifndef LAMPAR_FACTS_H
#define LAMPAR_FACTS_H

#include "base/digest.h"
#include "cuda/driver.h"
#include "pack/variant.h"

typedef struct lampar_rank_facts {
  char version[16];
  uint8_t host[LAMPAR_DIGEST_BYTES];    /* equal: the same boot of the same machine */
  uint8_t process[LAMPAR_DIGEST_BYTES]; /* equal: the same process */
  lampar_uuid device;
  uint64_t context;    /* the CUDA context, for ranks of the same process */
  uint32_t capability; /* 90 for 9.0 */
  uint32_t arch;       /* of the kernels for the group's world; 0: none */
  uint32_t arch_of_any_world;
  uint32_t needs_nvlink;
  uint8_t packs[LAMPAR_DIGEST_BYTES];
  uint8_t options[LAMPAR_DIGEST_BYTES];
  uint32_t is_disabled;
  uint32_t is_enabled;
  uint32_t contains_expert_parallelism;
  char reserved[124]; /* for new facts: the message keeps its size, so that different versions can
                         exchange it and report the difference */
} lampar_rank_facts;

_Static_assert(sizeof(lampar_rank_facts) == 256, "all versions exchange this many bytes");

/* Which GPUs a rank can access; bit r stands for rank r. */
typedef struct lampar_peer_access {
  uint32_t seen;   /* its GPU is visible in this process */
  uint32_t access; /* its GPU's memory can be accessed */
  uint32_t linked; /* over NVLink, or it is the same GPU */
} lampar_peer_access;

enum { LAMPAR_MESSAGE_BYTES = 400 };

typedef struct lampar_verdict {
  lampar_reason reason;
  char message[LAMPAR_MESSAGE_BYTES];
} lampar_verdict;

/* Reads the caller's host, process and device. */
lampar_status lampar_facts_read(lampar_rank_facts *facts, const lampar_driver *driver,
                                struct CUctx_st *context, int device);

/* Queries the driver about every rank's GPU. */
lampar_status lampar_peer_access_query(lampar_peer_access *access, const lampar_driver *driver,
                                       int device, const lampar_rank_facts *facts, int world);

lampar_verdict lampar_facts_decide(const lampar_rank_facts *facts, int world);
lampar_verdict lampar_peer_access_decide(const lampar_peer_access *access,
                                         const lampar_rank_facts *facts, int world);

/* The number of ranks on the same GPU as `rank`, including it. */
uint32_t lampar_facts_ranks_on_device(const lampar_rank_facts *facts, int world, int rank);

/* A digest that identifies the set of ranks. */
void lampar_facts_identity(const lampar_rank_facts *facts, int world,
                           uint8_t identity[LAMPAR_DIGEST_BYTES]);

#endif
