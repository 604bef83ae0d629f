#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "pack/arch.h"

/* The arch that lampar_kernels_arch chooses from a pack with every arch. */
static uint32_t arch_for(uint32_t capability) {
  uint32_t best = 0;
  for (size_t i = 0; lampar_archs[i] != 0; ++i)
    if (lampar_arch_runs(lampar_archs[i], capability)) best = lampar_archs[i];
  return best;
}

static void format_uuid(const lampar_uuid *uuid, char text[48]) {
  int length = snprintf(text, 48, "GPU-");
  for (int i = 0; i < 16; ++i)
    length +=
        snprintf(text + length, 48 - (size_t)length, "%s%02x",
                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid->bytes[i]);
}

static lampar_status read_gpu(const lampar_driver *driver, int gpu, char name[128],
                              lampar_uuid *uuid, uint32_t *capability) {
  int device;
  LAMPAR_TRY(lampar_driver_check(driver, driver->device_get(&device, gpu), "cuDeviceGet"));
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->device_name(name, 128, device), "cuDeviceGetName"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->device_uuid(uuid, device), "cuDeviceGetUuid"));
  return lampar_driver_capability(driver, device, capability);
}

static void look_at_gpu(lampar_diagnosis *diagnosis, const lampar_driver *driver,
                        const lampar_nvrtc *nvrtc, lampar_machine *machine, int gpu) {
  char name[128] = "", uuid_text[48];
  lampar_uuid uuid;
  if (read_gpu(driver, gpu, name, &uuid, &machine->capability[gpu]) != LAMPAR_OK) {
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "GPUs",
                         "check it with nvidia-smi; it may need a reset or a reboot", "%d: %s", gpu,
                         lampar_last_error());
    return;
  }
  const uint32_t capability = machine->capability[gpu];
  const uint32_t arch = machine->arch[gpu] = arch_for(capability);
  format_uuid(&uuid, uuid_text);
  cJSON *const facts = cJSON_CreateObject();
  const bool good =
      facts != NULL && cJSON_AddNumberToObject(facts, "ordinal", gpu) != NULL &&
      cJSON_AddStringToObject(facts, "name", name) != NULL &&
      cJSON_AddStringToObject(facts, "uuid", uuid_text) != NULL &&
      cJSON_AddNumberToObject(facts, "compute_capability", capability / 10.0) != NULL &&
      (arch == 0 || cJSON_AddStringToObject(facts, "arch", lampar_arch_name(arch)) != NULL);
  lampar_diagnosis_add_facts(diagnosis, diagnosis->gpus, facts, good);

  if (arch == 0)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "GPUs",
                         "use GPUs of compute capability 8.0 or later; this one stays on NCCL",
                         "%d: %s, compute capability %u.%u, %s: lampar has no kernels for it", gpu,
                         name, capability / 10, capability % 10, uuid_text);
  else if (nvrtc != NULL && arch != LAMPAR_ARCH_EMU &&
           lampar_nvrtc_require(nvrtc, arch) != LAMPAR_OK)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "GPUs",
                         "install a newer NVRTC to build kernels for this GPU here",
                         "%d: %s, runs kernels for %s; %s", gpu, name, lampar_arch_name(arch),
                         lampar_last_error());
  else
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "GPUs", NULL,
                         "%d: %s, compute capability %u.%u, runs kernels for %s; %s", gpu, name,
                         capability / 10, capability % 10, lampar_arch_name(arch), uuid_text);
}

static const char *driver_advice(void) {
  bool emulated;
  if (lampar_device_is_emulated(&emulated) != LAMPAR_OK)
    return "set LAMPAR_DEVICE to emu or unset it";
  if (emulated) return "build or install lampar with its emulated device";
  return "install NVIDIA's driver and check that nvidia-smi lists the GPUs; start containers "
         "with access to them (docker run --gpus all)";
}

void lampar_doctor_machine(lampar_diagnosis *diagnosis, const lampar_nvrtc *nvrtc,
                           lampar_machine *machine) {
  lampar_driver driver = {0};
  int version = 0, count = 0;
  lampar_status status = lampar_driver_open(&driver);
  if (status == LAMPAR_OK)
    status = lampar_driver_check(&driver, driver.driver_version(&version), "cuDriverGetVersion");
  if (status == LAMPAR_OK)
    status = lampar_driver_check(&driver, driver.device_count(&count), "cuDeviceGetCount");
  if (status != LAMPAR_OK) {
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "driver", driver_advice(), "%s",
                         lampar_last_error());
    return;
  }
  lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "driver", NULL, "CUDA %d.%d; %s",
                       version / 1000, version / 10 % 100, driver.library.path);
  if (count == 0) {
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "GPUs",
                         "check CUDA_VISIBLE_DEVICES and the GPUs that nvidia-smi lists",
                         "the driver reports no GPU");
    return;
  }
  machine->gpu_count = count < LAMPAR_WORLD_MAX ? count : LAMPAR_WORLD_MAX;
  for (int i = 0; i < machine->gpu_count; ++i) look_at_gpu(diagnosis, &driver, nvrtc, machine, i);
  if (machine->gpu_count == 1)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "GPUs",
                         "make a second GPU visible: check CUDA_VISIBLE_DEVICES",
                         "only one; an all-reduce needs two");
}
