/* A rank that fails while a group is created: the error of every rank, and how soon it comes. On
 * the emulated device: failures_test PACK CARRIER, where CARRIER is exchange or nccl. Each row of
 * the table below makes one thing fail on one rank, from a point of set-up on; a line is printed
 * for each rank. The linker puts the functions named __wrap_ before the library's own
 * (CMakeLists.txt).
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "exchange/exchange.h"
#include "verify/ranks.h"

enum {
  WORLD = 2,
  SILENT_MS = 300,  /* config.setup_timeout_ms where a rank stays silent */
  SOON_MS = 5000,   /* on a loaded machine; milliseconds otherwise */
  CUDA_ERROR = 999, /* CUDA_ERROR_UNKNOWN */
};

/* ---- what fails ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define FAILING(field, symbol, parameters)                                                         \
  static int fail_##field parameters {                                                             \
    return CUDA_ERROR;                                                                             \
  }                                                                                                \
  static void break_##field(lampar_driver *driver) {                                               \
    driver->field = fail_##field;                                                                  \
  }
LAMPAR_DRIVER_FUNCTIONS(FAILING)
#undef FAILING
#pragma GCC diagnostic pop

#define BREAKER(field, symbol, parameters) {#field, #symbol, break_##field},
static const struct breaker {
  const char *field, *symbol;
  void (*run)(lampar_driver *driver);
} breakers[] = {LAMPAR_DRIVER_FUNCTIONS(BREAKER)};
#undef BREAKER

typedef enum outcome {
  SKIPPED, /* the row means nothing over this carrier */
  FAILS,   /* the creation, on all ranks, with the message of the rank that failed */
  TO_NCCL, /* the group works over NCCL, and its report has that message */
  SILENT,  /* over NCCL; the rank cannot send: the others give up after config.setup_timeout_ms */
} outcome;

typedef struct row {
  const char *what;  /* a field of the driver, or one of the words below */
  const char *after; /* the step that is over when it starts to fail; "": from the start on */
  const char *step;  /* named in the message */
  outcome over_exchange, over_nccl;
} row;

/* After "channel" the rank can reach the others. Over NCCL that takes a few calls of the driver. */
static const row rows[] = {
    {"lanes", "", "start", FAILS, FAILS},
    {"pack", "", "start", FAILS, FAILS},
    {"context", "", "start", FAILS, FAILS},
    {"device", "", "start", SKIPPED, FAILS},
    {"calloc", "", "start", FAILS, FAILS},
    {"capture", "", "start", FAILS, FAILS},
    {"context_current", "channel", "start", FAILS, SILENT},
    {"context_device", "channel", "start", FAILS, FAILS},
    {"stream_capture_info", "channel", "start", FAILS, FAILS},
    {"memory_alloc", "", "start", FAILS, FAILS},
    {"memory_free", "", "start", FAILS, FAILS},
    {"stream_create", "channel", "start", FAILS, FAILS},
    {"device_uuid", "", "start", FAILS, FAILS},
    {"device_attribute", "", "start", FAILS, FAILS},
    {"device_count", "", "peer access", TO_NCCL, TO_NCCL},
    {"device_can_access_peer", "", "peer access", TO_NCCL, TO_NCCL},
    {"device_p2p_attribute", "", "peer access", TO_NCCL, TO_NCCL},
    {"calloc", "existing groups", "epilogues after NCCL", FAILS, FAILS},
    {"device_attribute", "facts", "epilogues after NCCL", FAILS, FAILS},
    {"library_load", "", "epilogues after NCCL", FAILS, FAILS},
    {"library_kernel", "", "epilogues after NCCL", FAILS, FAILS},
    {"kernel_function", "", "epilogues after NCCL", FAILS, FAILS},
    {"function_load", "", "epilogues after NCCL", FAILS, FAILS},
    {"occupancy_blocks", "", "epilogues after NCCL", FAILS, FAILS},
    {"calloc", "epilogues after NCCL", "workspace", TO_NCCL, TO_NCCL},
    {"library_load", "epilogues after NCCL", "workspace", TO_NCCL, TO_NCCL},
    {"occupancy_blocks", "epilogues after NCCL", "workspace", TO_NCCL, TO_NCCL},
    {"memory_alloc", "facts", "workspace", TO_NCCL, TO_NCCL},
    {"host_alloc", "channel", "workspace", TO_NCCL, TO_NCCL},
    {"host_device_pointer", "", "workspace", TO_NCCL, TO_NCCL},
    {"memset_d32_async", "", "workspace", TO_NCCL, TO_NCCL},
    {"stream_synchronize", "", "workspace", TO_NCCL, TO_NCCL},
    {"event_create", "", "workspace", TO_NCCL, TO_NCCL},
    {"context_enable_peer", "", "peers", TO_NCCL, TO_NCCL},
    {"copy_to_device_async", "", "self-test", TO_NCCL, TO_NCCL},
    {"launch", "", "self-test", TO_NCCL, TO_NCCL},
    {"copy_to_host_async", "", "self-test", TO_NCCL, TO_NCCL},
    {"no launch", "", "self-test", TO_NCCL, TO_NCCL},
    {"no driver", "", "start", FAILS, SILENT},
    {"primary_context_retain", "", "start", SKIPPED, SILENT},
    {"host_alloc", "", "start", SKIPPED, SILENT},
    {"stream_create", "", "start", SKIPPED, SILENT},
    {"stream_query", "", "facts", SKIPPED, SILENT},
    {"no NCCL", "", "start", SKIPPED, SILENT},
};

/* Of the rank whose thread this is. */
static _Thread_local struct {
  const row *row; /* NULL: nothing fails */
  lampar_driver *driver;
  bool is_armed;
} injected;

static bool is_armed_for(const char *what) {
  return injected.row != NULL && injected.is_armed && strcmp(injected.row->what, what) == 0;
}

static int launch_nothing(const lampar_launch_config *config, struct CUfunc_st *function,
                          void **parameters, void **extra) {
  (void)config, (void)function, (void)parameters, (void)extra;
  return LAMPAR_CUDA_SUCCESS;
}

static void break_driver(void) {
  if (injected.driver != NULL && is_armed_for("no launch"))
    injected.driver->launch = launch_nothing;
  for (size_t i = 0; injected.driver != NULL && i < sizeof breakers / sizeof breakers[0]; ++i)
    if (is_armed_for(breakers[i].field)) breakers[i].run(injected.driver);
}

static void pass(const char *point) {
  if (injected.row == NULL || strcmp(injected.row->after, point) != 0) return;
  injected.is_armed = true;
  break_driver();
}

lampar_status __real_lampar_driver_open(lampar_driver *driver);
lampar_status __wrap_lampar_driver_open(lampar_driver *driver);
lampar_status __wrap_lampar_driver_open(lampar_driver *driver) {
  if (is_armed_for("no driver")) return lampar_fail(LAMPAR_ERROR_DRIVER, "there is no driver");
  LAMPAR_TRY(__real_lampar_driver_open(driver));
  injected.driver = driver;
  break_driver();
  return LAMPAR_OK;
}

lampar_status __real_lampar_nccl_open(lampar_nccl *nccl);
lampar_status __wrap_lampar_nccl_open(lampar_nccl *nccl);
lampar_status __wrap_lampar_nccl_open(lampar_nccl *nccl) {
  if (is_armed_for("no NCCL")) return lampar_fail(LAMPAR_ERROR_NCCL, "there is no NCCL");
  return __real_lampar_nccl_open(nccl);
}

lampar_status __real_lampar_channel_over_exchange(lampar_channel *channel, const char *activity,
                                                  const lampar_exchange *given, const char *what);
lampar_status __wrap_lampar_channel_over_exchange(lampar_channel *channel, const char *activity,
                                                  const lampar_exchange *given, const char *what);
lampar_status __wrap_lampar_channel_over_exchange(lampar_channel *channel, const char *activity,
                                                  const lampar_exchange *given, const char *what) {
  const lampar_status status = __real_lampar_channel_over_exchange(channel, activity, given, what);
  pass("channel");
  return status;
}

lampar_status __real_lampar_channel_over_nccl(lampar_channel *channel, const char *activity,
                                              const lampar_driver *driver, const lampar_nccl *nccl,
                                              const lampar_logger *logger, struct ncclComm *comm,
                                              uint32_t timeout_ms);
lampar_status __wrap_lampar_channel_over_nccl(lampar_channel *channel, const char *activity,
                                              const lampar_driver *driver, const lampar_nccl *nccl,
                                              const lampar_logger *logger, struct ncclComm *comm,
                                              uint32_t timeout_ms);
lampar_status __wrap_lampar_channel_over_nccl(lampar_channel *channel, const char *activity,
                                              const lampar_driver *driver, const lampar_nccl *nccl,
                                              const lampar_logger *logger, struct ncclComm *comm,
                                              uint32_t timeout_ms) {
  const lampar_status status =
      __real_lampar_channel_over_nccl(channel, activity, driver, nccl, logger, comm, timeout_ms);
  pass("channel");
  return status;
}

lampar_status __real_lampar_channel_gather(const lampar_channel *channel, const char *step,
                                           const void *mine, void *all, size_t bytes);
lampar_status __wrap_lampar_channel_gather(const lampar_channel *channel, const char *step,
                                           const void *mine, void *all, size_t bytes);
lampar_status __wrap_lampar_channel_gather(const lampar_channel *channel, const char *step,
                                           const void *mine, void *all, size_t bytes) {
  const lampar_status status = __real_lampar_channel_gather(channel, step, mine, all, bytes);
  pass(step);
  return status;
}

lampar_status __real_lampar_channel_vote(const lampar_channel *channel, const char *step,
                                         lampar_status own, lampar_failure *first);
lampar_status __wrap_lampar_channel_vote(const lampar_channel *channel, const char *step,
                                         lampar_status own, lampar_failure *first);
lampar_status __wrap_lampar_channel_vote(const lampar_channel *channel, const char *step,
                                         lampar_status own, lampar_failure *first) {
  const lampar_status status = __real_lampar_channel_vote(channel, step, own, first);
  pass(step);
  return status;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return is_armed_for("calloc") ? NULL : __real_calloc(count, size);
}

/* ---- one creation ---- */

typedef struct experiment {
  const row *row;
  int failing;
  lampar_pack *pack;
  bool over_nccl;
  atomic_int done; /* ranks */
  struct {
    lampar_status status;
    double milliseconds;
    char message[LAMPAR_FAILURE_BYTES]; /* or the group's report */
  } rank[WORLD];
} experiment;

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static outcome expected_outcome(const experiment *e) {
  return e->over_nccl ? e->row->over_nccl : e->row->over_exchange;
}

static bool is_row(const experiment *e, const char *what) {
  return injected.row != NULL && strcmp(e->row->what, what) == 0;
}

static void say_nothing(void *user, lampar_log_level level, const char *line) {
  (void)user, (void)level, (void)line;
}

static lampar_status create(lampar_rank *rank, void *user) {
  experiment *e = user;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  lampar_pack *packs[] = {e->pack};
  struct CUgraph_st *graph = NULL;
  injected.row = rank->rank == e->failing ? e->row : NULL;
  config.enable = 1;
  if (expected_outcome(e) == SILENT) config.setup_timeout_ms = SILENT_MS;
  config.log = say_nothing;
  if (!e->over_nccl) config.exchange = rank->exchange;
  if (is_row(e, "lanes")) config.lanes = 65;
  if (is_row(e, "pack")) packs[0] = NULL;
  if (is_row(e, "context")) rank->driver->context_set_current(NULL);
  if (is_row(e, "device")) /* that of another rank */
    rank->driver->context_set_current(
        lampar_ranks_at(rank->ranks, WORLD - 1 - rank->rank)->context);
  if (is_row(e, "capture"))
    rank->driver->stream_begin_capture(rank->stream[0], LAMPAR_CAPTURE_MODE_THREAD_LOCAL);
  const double start = milliseconds();
  pass("");
  const lampar_status status = lampar_group_create(&group, rank->comm, packs, 1, &config);
  e->rank[rank->rank].status = status;
  e->rank[rank->rank].milliseconds = milliseconds() - start;
  snprintf(e->rank[rank->rank].message, sizeof e->rank[0].message, "%s",
           status == LAMPAR_OK ? lampar_group_report(group) : lampar_last_error());
  if (is_row(e, "capture")) rank->driver->stream_end_capture(rank->stream[0], &graph);
  if (graph != NULL) rank->driver->graph_destroy(graph);
  rank->driver->context_set_current(rank->context);
  injected.row = NULL;
  injected.is_armed = false;
  injected.driver = NULL;
  atomic_fetch_add(&e->done, 1);
  /* A thread that runs keeps the emulated devices from calling the others' wait a deadlock. */
  while (expected_outcome(e) == SILENT && atomic_load(&e->done) < WORLD) sched_yield();
  return lampar_group_destroy(group);
}

static lampar_status check_rank(const experiment *e, int r) {
  const lampar_status status = e->rank[r].status;
  const char *message = e->rank[r].message;
  const outcome expected = expected_outcome(e);
  char word[128];
  snprintf(word, sizeof word, "rank %d, step %s: ", e->failing, e->row->step);
  bool is_right = strstr(message, word) != NULL;
  if (expected == TO_NCCL)
    is_right = is_right && status == LAMPAR_OK && strstr(message, "set-up failed") != NULL;
  /* The self-test has a reason of its own. */
  if (expected == TO_NCCL && strcmp(e->row->step, "self-test") == 0)
    is_right = status == LAMPAR_OK && strstr(message, word) != NULL;
  if (expected == FAILS)
    is_right = is_right && status != LAMPAR_OK && status == e->rank[e->failing].status;
  if (expected == SILENT && r == e->failing) is_right = status != LAMPAR_OK;
  if (expected == SILENT && r != e->failing) {
    snprintf(word, sizeof word, "step \"%s\", rank %d of %d: some rank did not arrive within %d ms",
             e->row->step, r, WORLD, SILENT_MS);
    is_right = status == LAMPAR_ERROR_TIMEOUT && strstr(message, word) != NULL;
  }
  if (is_right && e->rank[r].milliseconds < SOON_MS) return LAMPAR_OK;
  return lampar_fail(LAMPAR_ERROR_MISMATCH, "rank %d: expected '%s' within %d ms", r, word,
                     SOON_MS);
}

/* Prints a line for each rank. */
static lampar_status run_row(lampar_ranks *ranks, const row *row, int failing, lampar_pack *pack,
                             bool over_nccl) {
  experiment e = {row, failing, pack, over_nccl, 0, {{0}}};
  if (over_nccl) LAMPAR_TRY(lampar_ranks_connect(ranks, NULL));
  LAMPAR_TRY(lampar_ranks_run(ranks, create, &e));
  lampar_status status = LAMPAR_OK;
  for (int r = 0; r < WORLD; ++r) {
    printf("%-23s fails on rank %d after %-21s rank %d: %6.1f ms, %s: %s\n", row->what, failing,
           row->after[0] != '\0' ? row->after : "-", r, e.rank[r].milliseconds,
           lampar_status_string(e.rank[r].status), e.rank[r].message);
    if (status == LAMPAR_OK) status = check_rank(&e, r);
  }
  if (over_nccl) lampar_ranks_disconnect(ranks);
  return status;
}

/* Nothing that failed has left anything behind that a creation minds. */
static lampar_status create_rightly(lampar_rank *rank, void *user) {
  experiment *e = user;
  lampar_group *group = NULL;
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = config.strict = 1;
  config.exchange = rank->exchange;
  LAMPAR_TRY(lampar_group_create(&group, NULL, &e->pack, 1, &config));
  const bool has_kernels = strstr(lampar_group_report(group), " kernels for emu") != NULL;
  const lampar_status status =
      has_kernels ? LAMPAR_OK
                  : lampar_fail(LAMPAR_ERROR_MISMATCH, "%s", lampar_group_report(group));
  lampar_group_destroy(group);
  return status;
}

typedef struct setting {
  const char *pack_path;
  bool over_nccl;
} setting;

/* The rows from `first` to `end`, with one set of ranks. */
static lampar_status run_rows(const setting *given, size_t first, size_t end, int only_rank) {
  experiment good = {0};
  lampar_ranks *ranks = NULL;
  LAMPAR_TRY(lampar_pack_open(given->pack_path, &good.pack));
  lampar_status status = lampar_ranks_create(0, WORLD, 0, &ranks);
  if (status == LAMPAR_OK) status = lampar_ranks_set_world(ranks, WORLD);
  for (size_t i = first; i < end; ++i)
    for (int failing = 0; failing < WORLD && status == LAMPAR_OK; ++failing) {
      const outcome expected = given->over_nccl ? rows[i].over_nccl : rows[i].over_exchange;
      if (only_rank >= 0 ? failing != only_rank : expected == SKIPPED || expected == SILENT)
        continue;
      status = run_row(ranks, &rows[i], failing, good.pack, given->over_nccl);
      if (status == LAMPAR_OK && expected != SILENT)
        status = lampar_ranks_run(ranks, create_rightly, &good);
    }
  if (only_rank >= 0) return status; /* the devices still wait for the silent rank */
  lampar_ranks_destroy(ranks);
  lampar_pack_close(good.pack);
  return status;
}

/* A rank that stays silent leaves the communicator of all others waiting: in a process of its own.
 */
static bool run_silent_row(const setting *given, size_t row, int failing) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const lampar_status status = run_rows(given, row, row + 1, failing);
    if (status != LAMPAR_OK) printf("%s\n", lampar_last_error());
    fflush(stdout);
    _exit(status != LAMPAR_OK);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
  enum { ROWS = sizeof rows / sizeof rows[0] };
  if (argc != 3 || (strcmp(argv[2], "nccl") != 0 && strcmp(argv[2], "exchange") != 0)) {
    fprintf(stderr, "usage: failures_test PACK exchange|nccl\n");
    return 2;
  }
  setenv("LAMPAR_DEVICE", "emu", 1);
  const setting given = {argv[1], strcmp(argv[2], "nccl") == 0};
  bool is_right = true;
  for (size_t i = 0; i < ROWS; ++i)
    for (int failing = 0; failing < WORLD; ++failing)
      if (given.over_nccl && rows[i].over_nccl == SILENT)
        is_right = run_silent_row(&given, i, failing) && is_right;
  const lampar_status status = run_rows(&given, 0, ROWS, -1);
  printf("%s\n", status != LAMPAR_OK ? lampar_last_error()
                 : is_right          ? "right"
                                     : "wrong, see above");
  return status != LAMPAR_OK || !is_right;
}
