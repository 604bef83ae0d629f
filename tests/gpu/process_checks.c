/* A process for each rank, as servers run: peers by CUDA IPC, exchanged over NCCL. The processes
 * are this program again, started afresh, so that none inherits a CUDA context. */
#include "checks.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 2, DEADLINE_S = 90, SENTENCE_BYTES = 900 };

extern char **environ;

typedef struct process {
  pid_t pid;
  int output; /* what it prints: its calls, or what went wrong */
} process;

static void write_hex(const lampar_nccl_id *id, char *text) {
  for (size_t i = 0; i < sizeof id->internal; ++i)
    sprintf(text + 2 * i, "%02x", (unsigned char)id->internal[i]);
}

static bool read_hex(const char *text, lampar_nccl_id *id) {
  for (size_t i = 0; i < sizeof id->internal; ++i) {
    unsigned value;
    if (sscanf(text + 2 * i, "%2x", &value) != 1) return false;
    id->internal[i] = (char)value;
  }
  return true;
}

static lampar_status start(const fixture *fixture, int rank, int gpu, const char *visible,
                           const char *identity, process *started) {
  char rank_text[8], gpu_text[8];
  snprintf(rank_text, sizeof rank_text, "%d", rank);
  snprintf(gpu_text, sizeof gpu_text, "%d", gpu);
  char *arguments[] = {
      (char *)fixture->program,   "--child",        rank_text, gpu_text, (char *)visible,
      (char *)fixture->pack_path, (char *)identity, NULL};
  int ends[2];
  if (pipe(ends) != 0) return lampar_fail(LAMPAR_ERROR_SYSTEM, "no pipe for a process");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  const int error =
      posix_spawn(&started->pid, "/proc/self/exe", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "a process for rank %d: %s", rank, strerror(error));
  }
  started->output = ends[0];
  return LAMPAR_OK;
}

/* Reads what the process says until it ends. */
static lampar_status finish(int rank, const process *started, uint64_t *calls) {
  char text[SENTENCE_BYTES] = "";
  size_t length = 0;
  ssize_t got;
  while (length + 1 < sizeof text &&
         (got = read(started->output, text + length, sizeof text - 1 - length)) > 0)
    length += (size_t)got;
  text[length] = '\0';
  close(started->output);
  int state = 0;
  waitpid(started->pid, &state, 0);
  unsigned long long done;
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0 && sscanf(text, "%llu calls", &done) == 1) {
    *calls += done;
    return LAMPAR_OK;
  }
  if (WIFSIGNALED(state))
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "the process of rank %d was ended by signal %d: %s",
                       rank, WTERMSIG(state), text);
  return lampar_fail(LAMPAR_ERROR_SYSTEM, "the process of rank %d: %s", rank, text);
}

/* `visible` and `gpu` of each rank: "-" leaves CUDA_VISIBLE_DEVICES as it is. */
static lampar_status run_processes(const fixture *fixture, const char *const *visible,
                                   const int *gpu, uint64_t *calls) {
  lampar_nccl nccl;
  lampar_nccl_id id;
  char identity[2 * sizeof id.internal + 1];
  LAMPAR_TRY(lampar_nccl_open(&nccl));
  LAMPAR_TRY(lampar_nccl_check(&nccl, nccl.unique_id(&id), "ncclGetUniqueId"));
  write_hex(&id, identity);

  process processes[PROCESSES];
  uint64_t done[PROCESSES] = {0};
  int started = 0;
  lampar_status status = LAMPAR_OK;
  for (; started < PROCESSES && status == LAMPAR_OK; ++started) {
    status = start(fixture, started, gpu[started], visible[started], identity, &processes[started]);
    if (status != LAMPAR_OK) break;
  }
  char message[SENTENCE_BYTES + 100] = "";
  for (int i = 0; i < started; ++i) {
    const lampar_status ended = finish(i, &processes[i], &done[i]);
    if (ended == LAMPAR_OK || status != LAMPAR_OK) continue;
    status = ended;
    snprintf(message, sizeof message, "%s", lampar_last_error());
  }
  *calls += done[0];
  if (message[0] != '\0') return lampar_fail(status, "%s", message);
  return status;
}

lampar_status check_processes(fixture *fixture, int world, uint64_t *calls) {
  (void)world;
  const char *const visible[PROCESSES] = {"-", "-"};
  const int gpu[PROCESSES] = {0, 1};
  return run_processes(fixture, visible, gpu, calls);
}

/* Each process sees its own GPU as number 0: GPUs must be told apart by UUID. */
lampar_status check_processes_own_order(fixture *fixture, int world, uint64_t *calls) {
  (void)world;
  char first[64] = "0", second[64] = "1", swapped[130], in_order[130];
  const char *given = getenv("CUDA_VISIBLE_DEVICES");
  if (given != NULL && sscanf(given, "%63[^,],%63[^,]", first, second) != 2)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "CUDA_VISIBLE_DEVICES=%s is not a list of two", given);
  snprintf(in_order, sizeof in_order, "%s,%s", first, second);
  snprintf(swapped, sizeof swapped, "%s,%s", second, first);
  const char *const visible[PROCESSES] = {in_order, swapped};
  const int gpu[PROCESSES] = {0, 0};
  return run_processes(fixture, visible, gpu, calls);
}

static lampar_status live(fixture *fixture, int rank, int gpu, const char *identity,
                          uint64_t *calls) {
  lampar_nccl_id id;
  if (strlen(identity) != 2 * sizeof id.internal || !read_hex(identity, &id))
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "the NCCL id is not one");
  LAMPAR_TRY(lampar_ranks_create(rank, 1, gpu, &fixture->ranks));
  LAMPAR_TRY(lampar_ranks_set_world(fixture->ranks, PROCESSES));
  LAMPAR_TRY(lampar_pack_open(fixture->pack_path, &fixture->pack));
  LAMPAR_TRY(lampar_batches_create(fixture->ranks, BUFFER_BYTES, &fixture->batches));
  LAMPAR_TRY(lampar_ranks_connect(fixture->ranks, &id));
  check_function *const checks[] = {check_rows, check_flat, check_graphs, check_programmatic,
                                    check_two_streams};
  for (size_t i = 0; i < sizeof checks / sizeof checks[0]; ++i) {
    LAMPAR_TRY(checks[i](fixture, PROCESSES, calls));
    LAMPAR_TRY(lampar_ranks_close_group(fixture->ranks));
  }
  return LAMPAR_OK;
}

int run_child(int argc, char **argv) {
  if (argc != 7) return 2;
  alarm(DEADLINE_S); /* a process without partners must not wait forever */
  const int rank = atoi(argv[2]), gpu = atoi(argv[3]);
  if (strcmp(argv[4], "-") != 0) setenv("CUDA_VISIBLE_DEVICES", argv[4], 1);
  fixture fixture = {.program = argv[0], .pack_path = argv[5]};
  uint64_t calls = 0;
  const lampar_status status = live(&fixture, rank, gpu, argv[6], &calls);
  if (status == LAMPAR_OK) printf("%llu calls\n", (unsigned long long)calls);
  else printf("%s\n", lampar_last_error());
  fflush(stdout);
  /* After a failure the other process may be gone: closing, which is collective, would wait for it.
   */
  if (status != LAMPAR_OK) _exit(1);
  fixture_close(&fixture);
  return 0;
}
