/* jit_time SPEC ARCH WORLD [RANKS]: one build at start-up, as an engine of WORLD ranks makes it (0:
 * all of the spec); the folder of the cache comes from the environment. With RANKS: that many
 * processes, which build together through an exchange in shared memory. Each process prints
 * milliseconds, kernels, and how many of them were in the cache, compiled and received. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lampar/lampar_jit.h>

enum { RANKS_MAX = 16, MESSAGE_BYTES_MAX = 4096 };

typedef struct meeting {
  pthread_barrier_t barrier;
  char messages[RANKS_MAX][MESSAGE_BYTES_MAX];
} meeting;

typedef struct member {
  meeting *meeting;
  lampar_exchange exchange;
} member;

static int all_gather(void *user, const void *mine, void *all, size_t bytes) {
  const member *const self = user;
  if (bytes > MESSAGE_BYTES_MAX) return 1;
  memcpy(self->meeting->messages[self->exchange.rank], mine, bytes);
  pthread_barrier_wait(&self->meeting->barrier);
  for (int r = 0; r < self->exchange.world; ++r)
    memcpy((char *)all + (size_t)r * bytes, self->meeting->messages[r], bytes);
  pthread_barrier_wait(&self->meeting->barrier); /* no message changes while it is read */
  return 0;
}

static meeting *open_meeting(int world) {
  meeting *const shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrierattr_t attributes;
  if (shared == MAP_FAILED) return NULL;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  const int result = pthread_barrier_init(&shared->barrier, &attributes, (unsigned)world);
  pthread_barrierattr_destroy(&attributes);
  return result == 0 ? shared : NULL;
}

static int build(char *const *arguments, const lampar_exchange *exchange) {
  lampar_jit_stats stats = LAMPAR_JIT_STATS_INIT;
  lampar_jit_options options = LAMPAR_JIT_OPTIONS_INIT;
  lampar_pack *pack = NULL;
  options.stats = &stats;
  options.world = atoi(arguments[3]);
  options.exchange = exchange;
  if (lampar_jit_build(arguments[1], arguments[2], &options, &pack) != LAMPAR_OK) {
    fprintf(stderr, "jit_time: %s\n", lampar_last_error());
    return 1;
  }
  printf("%.1f ms %u kernels %u cached %u compiled %u received\n", (double)stats.nanoseconds * 1e-6,
         stats.kernels, stats.cached, stats.compiled, stats.received);
  lampar_pack_close(pack);
  return 0;
}

static int build_together(char *const *arguments, int world) {
  meeting *const shared = open_meeting(world);
  if (shared == NULL) {
    perror("jit_time");
    return 1;
  }
  for (int rank = 0; rank < world; ++rank) {
    const pid_t process = fork();
    if (process == 0) {
      member self = {.meeting = shared, .exchange = LAMPAR_EXCHANGE_INIT};
      self.exchange.rank = rank;
      self.exchange.world = world;
      self.exchange.all_gather = all_gather;
      self.exchange.user = &self;
      exit(build(arguments, &self.exchange));
    }
    if (process < 0) return 1;
  }
  int failed = 0;
  for (int rank = 0, result; rank < world; ++rank) failed |= wait(&result) < 0 || result != 0;
  return failed;
}

int main(int argc, char **argv) {
  const int ranks = argc == 5 ? atoi(argv[4]) : 0;
  if (argc < 4 || argc > 5 || ranks < 0 || ranks > RANKS_MAX) {
    fprintf(stderr, "usage: jit_time SPEC ARCH WORLD [RANKS]\n");
    return 2;
  }
  return ranks > 0 ? build_together(argv, ranks) : build(argv, NULL);
}
