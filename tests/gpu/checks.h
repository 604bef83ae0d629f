/* The checks on GPUs. Each runs on a fixture whose ranks are set to `world` and have no group; what
 * it leaves open is closed behind it. It returns the first thing that is wrong. Every sum is
 * compared bit for bit, with the guard bytes around it. */
#ifndef LAMPAR_TEST_CHECKS_H
#define LAMPAR_TEST_CHECKS_H

#include "fixture.h"

typedef lampar_status check_function(fixture *fixture, int world, uint64_t *calls);

/* values_checks.c: sums of every shape, layout and value */
check_function check_float64, check_rows, check_flat, check_alignment, check_strides,
    check_in_place, check_special_values;

/* sequence_checks.c: what comes after what */
check_function check_alternating, check_graphs, check_chains, check_programmatic;

/* fallback_checks.c: what goes to NCCL */
check_function check_fallback, check_strict;

/* order_checks.c: streams and lanes */
check_function check_two_streams, check_two_streams_captured, check_lanes;

/* setup_checks.c: creating groups */
check_function check_second_creation, check_creation_in_capture, check_packs_differ,
    check_configs_differ, check_not_enabled, check_disabled, check_expert_parallelism,
    check_arguments, check_one_rank_over_nccl;

/* watchdog_checks.c: a rank that never calls, and one that is late */
check_function check_watchdog, check_late_rank;

/* process_checks.c: a process for each rank */
check_function check_processes, check_processes_own_order;
/* The life of one of those processes; its exit status. */
int run_child(int argc, char **argv);

#endif
