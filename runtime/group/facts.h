/* What each rank knows of itself, and what all ranks conclude from it: the same everywhere, since
 * it is computed from the same gathered facts. */
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
  char reserved[124]; /* the message keeps its size when facts are added: versions must understand
                         each other at least so far */
} lampar_rank_facts;

_Static_assert(sizeof(lampar_rank_facts) == 256, "all versions exchange this many bytes");

/* What a rank can access, bit r for rank r. */
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

/* Host, process and device of the caller. */
lampar_status lampar_facts_read(lampar_rank_facts *facts, const lampar_driver *driver,
                                struct CUctx_st *context, int device);

/* Asks the driver about every rank's GPU. */
lampar_status lampar_peer_access_query(lampar_peer_access *access, const lampar_driver *driver,
                                       int device, const lampar_rank_facts *facts, int world);

lampar_verdict lampar_facts_decide(const lampar_rank_facts *facts, int world);
lampar_verdict lampar_peer_access_decide(const lampar_peer_access *access,
                                         const lampar_rank_facts *facts, int world);

/* Ranks on the same GPU as `rank`, itself included. */
uint32_t lampar_facts_sharers(const lampar_rank_facts *facts, int world, int rank);

/* Tells one set of ranks from another. */
void lampar_facts_identity(const lampar_rank_facts *facts, int world,
                           uint8_t identity[LAMPAR_DIGEST_BYTES]);

#endif
