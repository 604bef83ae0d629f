#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "group/kernels.h"
#include "pack/arch.h"
#include "pack/pack_read.h"

/* The kernels of one arch and world: they all run, or none does. */
typedef struct set {
  uint32_t arch, world;
  size_t first, count;
} set;

/* GPUs for which the runtime would choose this set. */
static uint32_t takers(const lampar_machine *machine, lampar_pack *pack, const set *s) {
  uint32_t mask = 0;
  for (int i = 0; i < machine->gpu_count; ++i)
    if (lampar_kernels_arch(&pack, 1, machine->capability[i], s->world) == s->arch) mask |= 1u << i;
  return mask;
}

/* The first `world` GPUs that are all linked to each other; 0: there are too few. */
static uint32_t find_group(const lampar_machine *machine, uint32_t from, uint32_t world) {
  for (uint32_t mask = 1; mask < 1u << machine->gpu_count; ++mask) {
    if ((mask & ~from) != 0 || (uint32_t)__builtin_popcount(mask) != world) continue;
    bool linked = true;
    for (int i = 0; i < machine->gpu_count && linked; ++i)
      linked = !(mask >> i & 1) || (machine->works[i] & mask) == mask;
    if (linked) return mask;
  }
  return 0;
}

/* Whether the set would run; if not, `why` has the reason. */
static bool would_run(lampar_machine *machine, lampar_pack *pack, const set *s, char *why,
                      size_t size) {
  if (machine->ranks == NULL) {
    snprintf(why, size, "no GPU");
    return false;
  }
  const uint32_t from = takers(machine, pack, s);
  const int here = __builtin_popcount(from);
  if (here == 0) {
    bool same = false;
    for (int i = 0; i < machine->gpu_count; ++i)
      same = same || lampar_arch_runs(s->arch, machine->capability[i]);
    snprintf(why, size,
             same ? "the pack has kernels that fit the GPUs of this machine better"
                  : "this machine has no GPU for %s",
             lampar_arch_name(s->arch));
    return false;
  }
  if ((uint32_t)here < s->world) {
    snprintf(why, size, "they need %u GPUs, this machine has %d", s->world, here);
    return false;
  }
  const uint32_t mask = find_group(machine, from, s->world);
  if (mask == 0) {
    snprintf(why, size, "this machine has no %u GPUs that are all linked to each other", s->world);
    return false;
  }
  if (lampar_doctor_try_group(machine, mask, pack) == LAMPAR_OK) return true;
  snprintf(why, size, "%s", lampar_last_error());
  return false;
}

static void look_at_set(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine,
                        const set *s, size_t *running) {
  char why[700] = "";
  const bool runs = would_run(machine, pack, s, why, sizeof why);
  if (runs) *running += s->count;
  lampar_diagnosis_add(diagnosis, runs ? LAMPAR_FINDING_OK : LAMPAR_FINDING_NOTE, "kernels", NULL,
                       "%s, %u ranks: %zu %s%s%s", lampar_arch_name(s->arch), s->world, s->count,
                       runs ? "would run" : "would not run", runs ? "" : ": ", why);
  for (size_t i = s->first; i < s->first + s->count; ++i) {
    cJSON *const facts = cJSON_CreateObject();
    const bool good =
        facts != NULL &&
        cJSON_AddStringToObject(facts, "name", pack->kernels[i].record->name) != NULL &&
        cJSON_AddBoolToObject(facts, "would_run", runs) != NULL &&
        (runs || cJSON_AddStringToObject(facts, "why_not", why) != NULL);
    lampar_diagnosis_add_facts(diagnosis, diagnosis->kernels, facts, good);
  }
}

bool lampar_doctor_pack(lampar_diagnosis *diagnosis, lampar_pack *pack, lampar_machine *machine) {
  const size_t count = lampar_pack_count(pack);
  size_t running = 0;
  for (size_t i = 0; i < count;) { /* records are sorted by arch, then world */
    const lampar_variant *const v = &pack->kernels[i].variant;
    set s = {.arch = v->arch, .world = v->world, .first = i};
    while (i < count && pack->kernels[i].variant.arch == s.arch &&
           pack->kernels[i].variant.world == s.world)
      ++i;
    s.count = i - s.first;
    look_at_set(diagnosis, pack, machine, &s, &running);
  }
  if (running == 0)
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_PROBLEM, "kernels",
        "build a pack for the arch and world of this machine, and fix the problems above",
        "none of the %zu kernels of pack %s would run here", count, lampar_pack_name(pack));
  return running > 0;
}
