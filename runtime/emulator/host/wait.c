#include "emulator/host/wait.h"

/* Host threads that wait, and when the devices run.
 *
 * Enqueueing never runs anything. The devices run when the host is quiet: every thread of the
 * process either waits in here or is asleep in the kernel of the operating system. Then all that
 * the host will enqueue is enqueued, whichever thread was faster, and what the devices do depends
 * on that and on the seed alone. One of the waiting threads, the leader, finds out that the host is
 * quiet and runs them.
 *
 * So the same seed gives the same run when: there is one process; each device's streams are made
 * and used by one thread; no thread sleeps for a while and then goes on by itself. Otherwise runs
 * differ, but nothing is wrong with them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emulator/exec/deadlock.h"
#include "emulator/exec/devices.h"
#include "emulator/exec/scheduler.h"
#include "emulator/host/machine.h"

enum {
  GRACE_MS = 100,          /* until threads that could wake by themselves are taken to sleep on */
  SHARED_GRACE_MS = 30000, /* the same when other processes take part */
  BUSY_MS = 2000,          /* a host that is never quiet does not stop the devices forever */
  IDLE_QUERIES = 50, /* in a row, that count as a grace: a host that polls has a clock of its own */
  QUERY_MS = 100,    /* the longest that a query takes when the host is not quiet */
};

typedef struct emu_waiter {
  struct emu_waiter *next;
  emu_work *work;
  int task;
  bool is_query; /* returns when the devices have done all they can */
  bool satisfied;
} emu_waiter;

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool has_leader;
static uint64_t still_since;  /* ms; 0: the devices can do something */
static unsigned idle_queries; /* since then */
static emu_waiter *waiters;

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

typedef struct emu_census {
  unsigned long tasks, switches;
  bool can_wake; /* some task sleeps in a way that may end by itself: a timeout, a file */
} emu_census;

/* False for a task that waits for another thread, and for nothing else. */
static bool can_wake_by_itself(const char *task) {
  char path[64];
  long call = -1;
  unsigned long arguments[4];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/syscall", task);
  FILE *file = fopen(path, "r");
  if (file == NULL) return true;
  const int read = fscanf(file, "%ld %lx %lx %lx %lx", &call, &arguments[0], &arguments[1],
                          &arguments[2], &arguments[3]);
  fclose(file);
  return read != 5 || call != SYS_futex || arguments[3] != 0; /* the fourth is the timeout */
}

/* False when the task may be running. Counts how often it went to sleep so far. */
static bool is_asleep(const char *task, emu_census *census) {
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true; /* it ended meanwhile */
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return true;
  text[length] = '\0';
  const char *state = strstr(text, "\nState:\t");
  const char *switches = strstr(text, "\nvoluntary_ctxt_switches:\t");
  if (state == NULL || switches == NULL) return false;
  if (strchr("RD", state[8]) != NULL) return false;
  ++census->tasks;
  census->can_wake |= can_wake_by_itself(task);
  census->switches += strtoul(switches + 26, NULL, 10);
  return true;
}

static bool waits_here(int task) {
  for (const emu_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
    if (waiter->task == task) return true;
  return false;
}

/* Looks at all threads that do not wait in here. */
static bool others_sleep(emu_census *census) {
  *census = (struct emu_census){0};
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return true;
  bool all = true;
  for (const struct dirent *entry; all && (entry = readdir(tasks)) != NULL;)
    if (isdigit((unsigned char)entry->d_name[0]) && !waits_here(atoi(entry->d_name)))
      all = is_asleep(entry->d_name, census);
  closedir(tasks);
  return all;
}

/* Two looks that found all asleep, and nobody woke between them: at that time nobody was awake who
 * could have woken another. */
static bool host_is_quiet(bool *can_wake) {
  int waiting = 0;
  for (const emu_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
    waiting += !waiter->satisfied;
  if (atomic_load(&host.inside) != waiting) return false;
  emu_census first, second;
  if (!others_sleep(&first) || !others_sleep(&second)) return false;
  *can_wake = second.can_wake;
  return first.tasks == second.tasks && first.switches == second.switches &&
         atomic_load(&host.inside) == waiting;
}

static bool is_over(const emu_work *work) {
  return work->is_done || emu.devices[work->task.device].error != 0;
}

/* Lets go whoever has what it waits for; true when somebody was let go. */
static bool satisfy(bool devices_stand_still) {
  bool any = false;
  for (emu_waiter *waiter = waiters; waiter != NULL; waiter = waiter->next) {
    if (waiter->satisfied) continue;
    waiter->satisfied = is_over(waiter->work) || (waiter->is_query && devices_stand_still);
    any |= waiter->satisfied;
  }
  if (any) pthread_cond_broadcast(&changed);
  return any;
}

static void pause_us(long us) {
  pthread_mutex_unlock(&host.lock);
  nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
  pthread_mutex_lock(&host.lock);
}

static int grace_ms(bool can_wake) {
  if (emu.is_shared) return host.grace_ms ? host.grace_ms : SHARED_GRACE_MS;
  if (can_wake) return host.grace_ms ? host.grace_ms : GRACE_MS;
  return 0;
}

/* Whether the devices, which stand still now, will do so forever. Threads that only query count as
 * a host with its own clock, unless another process may still come. */
static bool is_deadlock(uint64_t now, bool can_wake, bool let_go) {
  if (still_since == 0) still_since = now;
  if (let_go && !emu.is_shared) return ++idle_queries == IDLE_QUERIES;
  return now - still_since >= (uint64_t)grace_ms(can_wake);
}

static void devices_move(void) {
  still_since = 0;
  idle_queries = 0;
}

/* Runs the devices until `self` may go on, or until it is a query that has waited long enough. */
static void lead(const emu_waiter *self) {
  const uint64_t began = now_ms();
  uint64_t busy_since = began;
  long us = 20;
  satisfy(false);
  while (!self->satisfied) {
    bool can_wake = false;
    const bool is_quiet = host_is_quiet(&can_wake);
    const uint64_t now = now_ms();
    if (!is_quiet && now - busy_since < BUSY_MS) {
      if (self->is_query && now - began >= QUERY_MS) return;
      pause_us(us);
      if (us < 500) us += us / 4;
      satisfy(false); /* somebody new may wait for what is over */
      continue;
    }
    if (emu.is_shared) scheduler_wake_polling(0);
    const bool has_arrived = works_have_arrived();
    const bool has_changed = scheduler_run();
    busy_since = now_ms();
    us = 20;
    const bool stands_still = !has_arrived && !has_changed && is_quiet;
    const bool let_go = satisfy(true);
    if (!stands_still) {
      devices_move();
    } else if (is_deadlock(busy_since, can_wake, let_go)) {
      deadlock_break();
      devices_move();
    } else if (!let_go) {
      pause_us(1000);
    }
  }
}

int machine_wait(emu_work *waited, bool is_query) {
  if (waited->is_done) return emu.devices[waited->task.device].error;
  emu_waiter self = {
      .next = waiters, .work = waited, .is_query = is_query, .task = (int)syscall(SYS_gettid)};
  waiters = &self;
  while (!self.satisfied) {
    if (has_leader) {
      pthread_cond_wait(&changed, &host.lock);
      continue;
    }
    has_leader = true;
    lead(&self);
    if (is_query) self.satisfied = true;
    has_leader = false;
    pthread_cond_broadcast(&changed);
  }
  for (emu_waiter **link = &waiters; *link != NULL; link = &(*link)->next)
    if (*link == &self) {
      *link = self.next;
      break;
    }
  const int error = emu.devices[waited->task.device].error;
  if (error) return error;
  return waited->is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
