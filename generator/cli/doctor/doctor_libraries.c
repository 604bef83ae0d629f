#include <stdio.h>

#include "cli/doctor/doctor.h"
#include "cli/template_folder.h"
#include "cuda/nccl.h"

static void look_at_nvrtc(lampar_diagnosis *diagnosis, lampar_nvrtc **nvrtc) {
  if (lampar_nvrtc_open(nvrtc) == LAMPAR_OK) {
    const int *const archs = lampar_nvrtc_archs(*nvrtc);
    char list[256] = "";
    for (size_t i = 0, used = 0; archs[i] != 0 && used < sizeof list; ++i)
      used += (size_t)snprintf(list + used, sizeof list - used, " sm_%d", archs[i]);
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "NVRTC", NULL, "%s, for%s; %s, build %.12s",
                         lampar_nvrtc_version(*nvrtc), list, lampar_nvrtc_path(*nvrtc),
                         lampar_nvrtc_build(*nvrtc));
  } else {
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_NOTE, "NVRTC",
        "existing packs run without NVRTC; to build kernels here, follow the message", "%s",
        lampar_last_error());
  }
}

static void look_at_nccl(lampar_diagnosis *diagnosis) {
  lampar_nccl nccl = {0};
  int version = 0;
  lampar_status status = lampar_nccl_open(&nccl);
  if (status == LAMPAR_OK)
    status = lampar_nccl_check(&nccl, nccl.version(&version), "ncclGetVersion");
  if (status == LAMPAR_OK)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "NCCL", NULL, "%d.%d.%d; %s",
                         version / 10000, version / 100 % 100, version % 100, nccl.library.path);
  else
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_NOTE, "NCCL",
        "install libnccl2 or the Python wheel nvidia-nccl-cu13, or name the file in "
        "LAMPAR_NCCL_LIBRARY; a process that has loaded NCCL, as PyTorch does, needs "
        "neither",
        "%s; groups need NCCL for their communicator and for the calls that no kernel takes",
        lampar_last_error());
}

static void look_at_templates(lampar_diagnosis *diagnosis) {
  char folder[PATH_MAX];
  if (lampar_template_folder(NULL, folder) == LAMPAR_OK)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "templates", NULL, "%s", folder);
  else
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "templates",
                         "existing packs run without templates; to build kernels here, name their "
                         "folder in LAMPAR_TEMPLATES",
                         "%s", lampar_last_error());
}

void lampar_doctor_libraries(lampar_diagnosis *diagnosis, lampar_nvrtc **nvrtc) {
  look_at_nvrtc(diagnosis, nvrtc);
  look_at_nccl(diagnosis);
  look_at_templates(diagnosis);
}
