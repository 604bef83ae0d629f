/* The parts of doctor. Each looks at one side of the machine and adds its findings; what it cannot
 * look at is a finding too, so none of them fails. */
#ifndef LAMPAR_DOCTOR_H
#define LAMPAR_DOCTOR_H

#include <stdbool.h>

#include "cli/doctor/diagnosis.h"
#include "compile/nvrtc.h"
#include "verify/ranks.h"

/* The GPUs that this process sees, a rank on each; with one GPU two ranks share it. */
typedef struct lampar_machine {
  lampar_ranks *ranks; /* NULL: there is no driver or no GPU */
  int gpu_count;
  uint32_t capability[LAMPAR_WORLD_MAX]; /* 90 for 9.0 */
  uint32_t arch[LAMPAR_WORLD_MAX];  /* of the kernels that each takes; 0: none is made for it */
  uint32_t works[LAMPAR_WORLD_MAX]; /* bit j of [i]: nothing is known against the pair */
} lampar_machine;

/* LAMPAR_* and other variables that matter. */
void lampar_doctor_settings(lampar_diagnosis *diagnosis);

/* Where the cache of compiled kernels lies, and whether it can be used. */
void lampar_doctor_cache(lampar_diagnosis *diagnosis);

/* NVRTC (`*nvrtc` is NULL when there is none; the caller closes it), NCCL, templates. */
void lampar_doctor_libraries(lampar_diagnosis *diagnosis, lampar_nvrtc **nvrtc);

/* Driver and GPUs. The caller destroys machine->ranks. */
void lampar_doctor_machine(lampar_diagnosis *diagnosis, const lampar_nvrtc *nvrtc,
                           lampar_machine *machine);

/* Peer access, and sums over every pair of GPUs of one arch, with the kernels of `pack`; where it
 * has none for two ranks, or is NULL, with one that is compiled for it. */
void lampar_doctor_links(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine);

/* For every kernel of the pack whether it would run here; false: none would. */
bool lampar_doctor_pack(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine);

/* Sets a group up on the GPUs of `mask`, one rank on each, as an engine does, self-test and all,
 * and destroys it again. Errors: NO_KERNEL, when the group would go to NCCL, with its reason; those
 * of lampar_group_create. */
lampar_status lampar_doctor_try_group(lampar_machine *machine, uint32_t mask, lampar_pack *pack);

#endif
