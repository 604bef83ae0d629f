#include "group/facts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static size_t read_file(const char *path, char *text, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file >= 0 ? read(file, text, size) : 0;
  if (file >= 0) close(file);
  return length > 0 ? (size_t)length : 0;
}

/* The boot id is the same in all containers of a host. A process is identified by its id and start
 * time within its pid namespace, since two containers may each have a process 1. */
static void identify(lampar_rank_facts *facts) {
  char boot[64] = "", text[1024] = "";
  const size_t boot_bytes = read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
  lampar_digest(boot, boot_bytes, facts->host);

  struct stat space = {0};
  stat("/proc/self/ns/pid", &space);
  text[read_file("/proc/self/stat", text, sizeof text - 1)] = '\0';
  const char *field = strrchr(
      text, ')'); /* the name may contain spaces and brackets; the start time is 20 fields later */
  for (int i = 0; field != NULL && i < 20; ++i) field = strchr(field + 1, ' ');
  const char *start = field != NULL ? field + 1 : "";
  char process[256];
  const int length =
      snprintf(process, sizeof process, "%.64s %lu %ld %.*s", boot, (unsigned long)space.st_ino,
               (long)getpid(), (int)strcspn(start, " "), start);
  lampar_digest(process, (size_t)length, facts->process);
}

lampar_status lampar_facts_read(lampar_rank_facts *facts, const lampar_driver *driver,
                                struct CUctx_st *context, int device) {
  snprintf(facts->version, sizeof facts->version, "%s", lampar_version());
  identify(facts);
  facts->context = (uint64_t)(uintptr_t)context;
  LAMPAR_TRY(
      lampar_driver_check(driver, driver->device_uuid(&facts->device, device), "cuDeviceGetUuid"));
  return lampar_driver_capability(driver, device, &facts->capability);
}

static bool is_same_device(const lampar_rank_facts *a, const lampar_rank_facts *b) {
  return memcmp(&a->device, &b->device, sizeof a->device) == 0;
}

/* Finds the GPU by UUID, because ordinals differ between processes. -1: not visible here. */
static lampar_status find_device(const lampar_driver *driver, const lampar_uuid *uuid,
                                 int *device) {
  int count;
  *device = -1;
  LAMPAR_TRY(lampar_driver_check(driver, driver->device_count(&count), "cuDeviceGetCount"));
  for (int i = 0; i < count; ++i) {
    int candidate;
    lampar_uuid found;
    LAMPAR_TRY(lampar_driver_check(driver, driver->device_get(&candidate, i), "cuDeviceGet"));
    LAMPAR_TRY(
        lampar_driver_check(driver, driver->device_uuid(&found, candidate), "cuDeviceGetUuid"));
    if (memcmp(&found, uuid, sizeof found) == 0) *device = candidate;
  }
  return LAMPAR_OK;
}

lampar_status lampar_peer_access_query(lampar_peer_access *access, const lampar_driver *driver,
                                       int device, const lampar_rank_facts *facts, int world) {
  for (int r = 0; r < world; ++r) {
    int peer, reaches, linked;
    LAMPAR_TRY(find_device(driver, &facts[r].device, &peer));
    if (peer < 0) continue;
    reaches = linked = peer == device;
    if (peer != device) {
      LAMPAR_TRY(lampar_driver_check(driver, driver->device_can_access_peer(&reaches, device, peer),
                                     "cuDeviceCanAccessPeer"));
      /* NVLink supports atomics between GPUs, PCIe does not. */
      LAMPAR_TRY(lampar_driver_check(
          driver,
          driver->device_p2p_attribute(&linked, LAMPAR_P2P_NATIVE_ATOMIC_SUPPORTED, device, peer),
          "cuDeviceGetP2PAttribute"));
    }
    access->seen |= 1u << r;
    access->access |= (reaches != 0 ? 1u : 0u) << r;
    access->linked |= (linked != 0 ? 1u : 0u) << r;
  }
  return LAMPAR_OK;
}

__attribute__((format(printf, 2, 3))) static lampar_verdict verdict(lampar_reason reason,
                                                                    const char *format, ...) {
  lampar_verdict result = {.reason = reason};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(result.message, sizeof result.message, format, arguments);
  va_end(arguments);
  return result;
}

/* The first thing that differs between two ranks and must not; NULL if nothing does. */
static const char *difference(const lampar_rank_facts *a, const lampar_rank_facts *b) {
  if (memcmp(a->version, b->version, sizeof a->version) != 0) return "the version of lampar";
  if (a->is_enabled != b->is_enabled) return "config.enable";
  if (memcmp(a->options, b->options, sizeof a->options) != 0)
    return "the group's config, LAMPAR_KERNEL or LAMPAR_STRICT";
  if (memcmp(a->packs, b->packs, sizeof a->packs) != 0) return "the packs";
  if (a->arch != b->arch) return "the arch of the GPU's kernels";
  return NULL;
}

lampar_verdict lampar_facts_decide(const lampar_rank_facts *facts, int world) {
  for (int r = 0; r < world; ++r)
    if (facts[r].is_disabled)
      return verdict(LAMPAR_REASON_DISABLED, "LAMPAR_DISABLE is set on rank %d", r);
  for (int r = 1; r < world; ++r) {
    const char *what = difference(&facts[0], &facts[r]);
    if (what != NULL)
      return verdict(LAMPAR_REASON_RANKS_DISAGREE, "rank %d differs from rank 0 in %s", r, what);
  }
  if (!facts[0].is_enabled)
    return verdict(LAMPAR_REASON_NOT_ENABLED, "the group did not opt in: set config.enable");
  if (facts[0].contains_expert_parallelism)
    return verdict(LAMPAR_REASON_EXPERT_PARALLELISM, "the group contains expert parallelism");
  if (world == 1)
    return verdict(LAMPAR_REASON_WORLD, "a group of one rank has nothing to exchange");
  for (int r = 1; r < world; ++r)
    if (memcmp(facts[0].host, facts[r].host, sizeof facts[0].host) != 0)
      return verdict(LAMPAR_REASON_SEVERAL_NODES, "rank %d is on another host than rank 0", r);
  if (facts[0].arch == 0 && facts[0].arch_of_any_world == 0)
    return verdict(LAMPAR_REASON_ARCH,
                   "no pack has kernels for compute capability %u.%u: build one with that arch",
                   facts[0].capability / 10, facts[0].capability % 10);
  if (facts[0].arch == 0)
    return verdict(LAMPAR_REASON_WORLD,
                   "no pack has kernels for %d ranks: add the world to the spec", world);
  return (lampar_verdict){.reason = LAMPAR_REASON_NONE};
}

lampar_verdict lampar_peer_access_decide(const lampar_peer_access *access,
                                         const lampar_rank_facts *facts, int world) {
  for (int from = 0; from < world; ++from)
    for (int to = 0; to < world; ++to) {
      const uint32_t bit = 1u << to;
      if (!(access[from].seen & bit))
        return verdict(
            LAMPAR_REASON_NO_PEER_ACCESS,
            "rank %d's process does not see the GPU of rank %d: make all GPUs of the group "
            "visible to every process (CUDA_VISIBLE_DEVICES)",
            from, to);
      if (!(access[from].access & bit))
        return verdict(LAMPAR_REASON_NO_PEER_ACCESS,
                       "the GPU of rank %d cannot access the memory of rank %d's", from, to);
      if (facts[from].needs_nvlink && !(access[from].linked & bit))
        return verdict(
            LAMPAR_REASON_NO_NVLINK,
            "the GPUs of ranks %d and %d are not linked by NVLink, which the pack requires "
            "(topology.link of its spec)",
            from, to);
    }
  return (lampar_verdict){.reason = LAMPAR_REASON_NONE};
}

uint32_t lampar_facts_ranks_on_device(const lampar_rank_facts *facts, int world, int rank) {
  uint32_t ranks_on_device = 0;
  for (int r = 0; r < world; ++r) ranks_on_device += is_same_device(&facts[r], &facts[rank]);
  return ranks_on_device;
}

void lampar_facts_identity(const lampar_rank_facts *facts, int world,
                           uint8_t identity[LAMPAR_DIGEST_BYTES]) {
  lampar_digest_part parts[2 * LAMPAR_WORLD_MAX];
  for (int r = 0; r < world; ++r) {
    parts[2 * r] = (lampar_digest_part){facts[r].process, sizeof facts[r].process};
    parts[2 * r + 1] = (lampar_digest_part){&facts[r].device, sizeof facts[r].device};
  }
  lampar_digest_parts(parts, (size_t)(2 * world), identity);
}
