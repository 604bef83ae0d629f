/* The parts of doctor. Each examines one aspect of the machine and adds its findings. A failure to
 * examine something is a finding too, so no part returns an error. */
#ifndef LAMPAR_DOCTOR_H
#define LAMPAR_DOCTOR_H

#include <stdbool.h>

#include "cli/doctor/diagnosis.h"
#include "compile/nvrtc.h"
#include "verify/ranks.h"

/* The GPUs that this process sees, one rank on each; a single GPU is shared by two ranks. */
typedef struct lampar_machine {
  lampar_ranks *ranks; /* NULL: there is no driver or no GPU */
  int gpu_count;
  uint32_t capability[LAMPAR_WORLD_MAX]; /* 90 for 9.0 */
  uint32_t arch[LAMPAR_WORLD_MAX];  /* of the kernels for each GPU; 0: lampar has none for it */
  uint32_t works[LAMPAR_WORLD_MAX]; /* bit j of [i]: no problem was found with the pair i, j */
} lampar_machine;

/* LAMPAR_* and other variables that matter. */
void lampar_doctor_settings(lampar_diagnosis *diagnosis);

/* The folder of the kernel cache, and whether it can be used. */
void lampar_doctor_cache(lampar_diagnosis *diagnosis);

/* NVRTC (`*nvrtc` is NULL when there is none; the caller closes it), NCCL, templates. */
void lampar_doctor_libraries(lampar_diagnosis *diagnosis, lampar_nvrtc **nvrtc);

/* Driver and GPUs. The caller destroys machine->ranks. */
void lampar_doctor_machine(lampar_diagnosis *diagnosis, const lampar_nvrtc *nvrtc,
                           lampar_machine *machine);

/* Peer access, and sums over every pair of GPUs of one arch. The sums use the kernels of `pack`; if
 * it is NULL or has none for two ranks, a kernel is compiled for the test. */
void lampar_doctor_links(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine);

/* Whether each kernel of the pack would run on this machine. Returns false if none would. */
bool lampar_doctor_pack(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine);

/* Creates a group on the GPUs of `mask`, one rank on each, as an engine does, including the
 * self-test, and destroys it. Errors: NO_KERNEL, with the reason, when the group would go to NCCL;
 * those of lampar_group_create. */
lampar_status lampar_doctor_try_group(lampar_machine *machine, uint32_t mask, lampar_pack *pack);

#endif
