#include <stdio.h>

#include "base/environment.h"
#include "cli/doctor/doctor.h"
#include "group/kernels.h"
#include "lampar/lampar_jit.h"
#include "pack/arch.h"
#include "pack/pack_read.h"

typedef struct link_facts {
  int access, native; /* native: atomics over it, which NVLink has and PCIe has not */
} link_facts;

static lampar_status read_link(const lampar_rank *from, const lampar_rank *to, link_facts *facts) {
  const lampar_driver *const driver = from->driver;
  int device, peer;
  LAMPAR_TRY(lampar_driver_check(driver, driver->device_get(&device, from->gpu), "cuDeviceGet"));
  LAMPAR_TRY(lampar_driver_check(driver, driver->device_get(&peer, to->gpu), "cuDeviceGet"));
  LAMPAR_TRY(lampar_driver_check(driver,
                                 driver->device_can_access_peer(&facts->access, device, peer),
                                 "cuDeviceCanAccessPeer"));
  return lampar_driver_check(driver,
                             driver->device_p2p_attribute(
                                 &facts->native, LAMPAR_P2P_NATIVE_ATOMIC_SUPPORTED, device, peer),
                             "cuDeviceGetP2PAttribute");
}

/* The pack to try a pair with: the given one, else a small one that is compiled for it. `*made` is
 * the one made last. */
static lampar_status choose_pack(lampar_pack *given, uint32_t capability, uint32_t arch,
                                 lampar_pack **made, lampar_pack **chosen) {
  *chosen = given;
  if (given != NULL && lampar_kernels_arch(&given, 1, capability, 2) != 0) return LAMPAR_OK;
  *chosen = NULL;
  if (*made == NULL || (*made)->kernels[0].variant.arch != arch) {
    lampar_pack_close(*made);
    *made = NULL;
    char spec[160];
    snprintf(
        spec, sizeof spec,
        "return spec { name = \"doctor\", arch = { \"%s\" }, world = { 2 }, dtype = { \"bf16\" }, "
        "bytes = 16384, topology = { link = \"any\" } }",
        lampar_arch_name(arch));
    lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
    options.write_folder = "";
    LAMPAR_TRY(lampar_jit_build_text(spec, "doctor", lampar_arch_name(arch), &options, made));
  }
  *chosen = *made;
  return LAMPAR_OK;
}

typedef struct totals {
  int pairs, tried, nvlink;
} totals;

static void look_at_pair(lampar_diagnosis *diagnosis, lampar_machine *machine, int a, int b,
                         lampar_pack *pack, totals *all) {
  link_facts there = {0}, back = {0};
  const lampar_rank *const from = lampar_ranks_at(machine->ranks, a);
  const lampar_rank *const to = lampar_ranks_at(machine->ranks, b);
  const char *result = "not tried";
  lampar_status status = read_link(from, to, &there);
  if (status == LAMPAR_OK) status = read_link(to, from, &back);
  const bool access = there.access && back.access, nvlink = there.native && back.native;
  ++all->pairs;
  all->nvlink += nvlink;
  if (status != LAMPAR_OK)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "links",
                         "check the pair in the output of nvidia-smi topo -m", "%d-%d: %s", a, b,
                         lampar_last_error());
  else if (!access)
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_PROBLEM, "links",
        "in a virtual machine or container, let the GPUs access each other (IOMMU and ACS "
        "off, one IPC namespace); groups with this pair go to NCCL",
        "%d-%d: no peer access", a, b);
  else if (pack != NULL && pack->header->needs_nvlink && !nvlink) {
    status = LAMPAR_ERROR_NO_KERNEL;
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_PROBLEM, "links",
        "build the pack with topology = { link = \"any\" }, or use GPUs with NVLink",
        "%d-%d: no NVLink, which %s asks for", a, b, lampar_pack_name(pack));
  } else if (pack != NULL) {
    ++all->tried;
    status = lampar_doctor_try_group(machine, 1u << a | 1u << b, pack);
    result = status == LAMPAR_OK ? "right" : "failed";
    if (status != LAMPAR_OK)
      lampar_diagnosis_add(
          diagnosis, LAMPAR_FINDING_PROBLEM, "links",
          "do not use these two GPUs in one group; check nvidia-smi topo -m and dmesg",
          "%d-%d: the driver reports peer access, but a test sum failed: %s", a, b,
          lampar_last_error());
  }
  if (status == LAMPAR_OK && access) {
    machine->works[a] |= 1u << b;
    machine->works[b] |= 1u << a;
  }
  cJSON *const facts = cJSON_CreateObject();
  const bool good = facts != NULL && cJSON_AddNumberToObject(facts, "from", a) != NULL &&
                    cJSON_AddNumberToObject(facts, "to", b) != NULL &&
                    cJSON_AddBoolToObject(facts, "peer_access", access) != NULL &&
                    cJSON_AddBoolToObject(facts, "nvlink", nvlink) != NULL &&
                    cJSON_AddStringToObject(facts, "self_test", result) != NULL;
  lampar_diagnosis_add_facts(diagnosis, diagnosis->links, facts, good);
}

/* With one GPU there is no link: two ranks on it test the kernels at least. */
static void look_at_one(lampar_diagnosis *diagnosis, lampar_machine *machine, lampar_pack *pack) {
  if (lampar_doctor_try_group(machine, 3, pack) == LAMPAR_OK)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "links", NULL,
                         "none to test; the test sum of two ranks on GPU 0 is right");
  else
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "links",
                         "check the GPU with nvidia-smi and dmesg", "two ranks on GPU 0: %s",
                         lampar_last_error());
}

static void summarise(lampar_diagnosis *diagnosis, const totals *all) {
  if (all->pairs == 0) return;
  lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "links", NULL,
                       "%d pairs, %d by NVLink, %d tested with the kernels' own stores", all->pairs,
                       all->nvlink, all->tried);
}

void lampar_doctor_links(lampar_diagnosis *diagnosis, lampar_pack *given, lampar_machine *machine) {
  if (machine->gpu_count == 0) return;
  const int count = machine->gpu_count > 1 ? machine->gpu_count : 2;
  if (lampar_ranks_create(0, count, 0, &machine->ranks) != LAMPAR_OK ||
      lampar_ranks_set_world(machine->ranks, count) != LAMPAR_OK) {
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_PROBLEM, "links",
                         "free the GPUs' memory, then try again",
                         "cannot create contexts on the GPUs: %s", lampar_last_error());
    lampar_ranks_destroy(machine->ranks);
    machine->ranks = NULL;
    return;
  }
  lampar_pack *made = NULL;
  totals all = {0};
  const bool is_disabled =
      lampar_variable_is_set(LAMPAR_VARIABLE_DISABLE); /* no group uses kernels */
  bool is_reported = false;
  for (int a = 0; a < machine->gpu_count; ++a) {
    lampar_pack *pack = NULL;
    machine->works[a] |= 1u << a;
    if (machine->arch[a] == 0) continue;
    if (!is_disabled &&
        choose_pack(given, machine->capability[a], machine->arch[a], &made, &pack) != LAMPAR_OK &&
        !is_reported) {
      lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "links",
                           "give a PACK with kernels for two ranks, or make NVRTC available",
                           "no test sums: %s", lampar_last_error());
      is_reported = true;
    }
    if (machine->gpu_count == 1 && pack != NULL) look_at_one(diagnosis, machine, pack);
    for (int b = a + 1; b < machine->gpu_count; ++b)
      if (machine->capability[a] == machine->capability[b])
        look_at_pair(diagnosis, machine, a, b, pack, &all);
  }
  summarise(diagnosis, &all);
  lampar_pack_close(made);
}
