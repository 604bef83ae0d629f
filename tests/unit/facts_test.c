#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "group/facts.h"

enum { WORLD = 4, ALL = 15 };

/* Four ranks that agree, a GPU each. */
static void agree(lampar_rank_facts facts[WORLD], lampar_peer_access access[WORLD]) {
  for (int r = 0; r < WORLD; ++r) {
    facts[r] = (lampar_rank_facts){.version = "0.1.0",
                                   .capability = 90,
                                   .arch = 90,
                                   .arch_of_any_world = 90,
                                   .needs_nvlink = 1,
                                   .is_enabled = 1};
    snprintf(facts[r].device.bytes, sizeof facts[r].device.bytes, "gpu %d", r);
    access[r] = (lampar_peer_access){.seen = ALL, .access = ALL, .linked = ALL};
  }
}

static void check(const lampar_rank_facts *facts, lampar_reason reason, const char *message) {
  const lampar_verdict verdict = lampar_facts_decide(facts, WORLD);
  assert_int_equal(verdict.reason, reason);
  assert_string_equal(verdict.message, message);
}

static void kernels_when_all_agree(void **state) {
  (void)state;
  lampar_rank_facts facts[WORLD];
  lampar_peer_access access[WORLD];
  agree(facts, access);
  check(facts, LAMPAR_REASON_NONE, "");
  assert_int_equal(lampar_peer_access_decide(access, facts, WORLD).reason, LAMPAR_REASON_NONE);
  assert_int_equal(lampar_facts_ranks_on_device(facts, WORLD, 2), 1);
}

static void each_reason_names_the_rank(void **state) {
  (void)state;
  lampar_rank_facts facts[WORLD];
  lampar_peer_access access[WORLD];

  agree(facts, access);
  facts[2].is_disabled = 1;
  check(facts, LAMPAR_REASON_DISABLED, "LAMPAR_DISABLE is set on rank 2");

  agree(facts, access);
  for (int r = 0; r < WORLD; ++r) facts[r].is_enabled = 0;
  check(facts, LAMPAR_REASON_NOT_ENABLED, "the group did not opt in: set config.enable");
  facts[3].is_enabled = 1;
  check(facts, LAMPAR_REASON_RANKS_DISAGREE, "rank 3 differs from rank 0 in config.enable");

  agree(facts, access);
  for (int r = 0; r < WORLD; ++r) facts[r].contains_expert_parallelism = 1;
  check(facts, LAMPAR_REASON_EXPERT_PARALLELISM, "the group contains expert parallelism");

  agree(facts, access);
  facts[1].version[0] = '9';
  check(facts, LAMPAR_REASON_RANKS_DISAGREE, "rank 1 differs from rank 0 in the version of lampar");
  agree(facts, access);
  facts[1].packs[0] = 1;
  check(facts, LAMPAR_REASON_RANKS_DISAGREE, "rank 1 differs from rank 0 in the packs");
  agree(facts, access);
  facts[3].options[0] = 1;
  check(facts, LAMPAR_REASON_RANKS_DISAGREE,
        "rank 3 differs from rank 0 in the group's config, LAMPAR_KERNEL or LAMPAR_STRICT");
  agree(facts, access);
  facts[3].arch = 80;
  check(facts, LAMPAR_REASON_RANKS_DISAGREE,
        "rank 3 differs from rank 0 in the arch of the GPU's kernels");

  agree(facts, access);
  facts[3].host[0] = 1;
  check(facts, LAMPAR_REASON_SEVERAL_NODES, "rank 3 is on another host than rank 0");

  agree(facts, access);
  for (int r = 0; r < WORLD; ++r) facts[r].arch = 0;
  check(facts, LAMPAR_REASON_WORLD, "no pack has kernels for 4 ranks: add the world to the spec");
  for (int r = 0; r < WORLD; ++r) facts[r].arch_of_any_world = 0;
  check(facts, LAMPAR_REASON_ARCH,
        "no pack has kernels for compute capability 9.0: build one with that arch");
}

static void every_pair_needs_access(void **state) {
  (void)state;
  lampar_rank_facts facts[WORLD];
  lampar_peer_access access[WORLD];
  for (int from = 0; from < WORLD; ++from)
    for (int to = 0; to < WORLD; ++to) {
      agree(facts, access);
      access[from].access &= ~(1u << to);
      assert_int_equal(lampar_peer_access_decide(access, facts, WORLD).reason,
                       LAMPAR_REASON_NO_PEER_ACCESS);
      agree(facts, access);
      access[from].seen &= ~(1u << to);
      assert_int_equal(lampar_peer_access_decide(access, facts, WORLD).reason,
                       LAMPAR_REASON_NO_PEER_ACCESS);
      agree(facts, access);
      access[from].linked &= ~(1u << to);
      assert_int_equal(lampar_peer_access_decide(access, facts, WORLD).reason,
                       LAMPAR_REASON_NO_NVLINK);
      for (int r = 0; r < WORLD; ++r) facts[r].needs_nvlink = 0;
      assert_int_equal(lampar_peer_access_decide(access, facts, WORLD).reason, LAMPAR_REASON_NONE);
    }
}

static void ranks_are_told_apart(void **state) {
  (void)state;
  lampar_rank_facts facts[WORLD];
  lampar_peer_access access[WORLD];
  uint8_t one[LAMPAR_DIGEST_BYTES], other[LAMPAR_DIGEST_BYTES];
  agree(facts, access);
  lampar_facts_identity(facts, WORLD, one);
  lampar_facts_identity(facts, WORLD, other);
  assert_memory_equal(one, other, sizeof one);
  facts[1].process[3] = 7;
  lampar_facts_identity(facts, WORLD, other);
  assert_memory_not_equal(one, other, sizeof one);
  agree(facts, access);
  facts[1].device = facts[0].device;
  lampar_facts_identity(facts, WORLD, other);
  assert_memory_not_equal(one, other, sizeof one);
  assert_int_equal(lampar_facts_ranks_on_device(facts, WORLD, 1), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_when_all_agree),
      cmocka_unit_test(each_reason_names_the_rank),
      cmocka_unit_test(every_pair_needs_access),
      cmocka_unit_test(ranks_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
