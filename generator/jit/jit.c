/* The functions of lampar_jit.h: options, and the way from spec to pack, alone or with other ranks.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/environment.h"
#include "base/sized.h"
#include "exchange/exchange.h"
#include "jit/jit_share.h"
#include "jit/jit_target.h"
#include "pack/pack_write.h"
#include "pack/private_api.h"

typedef struct build_request {
  const char *name; /* of the spec: its file, or what messages call its text */
  bool is_text;
  const char *text;
  const char *arch; /* NULL: that of the current device */
  lampar_pack **pack;
} build_request;

typedef struct build {
  lampar_jit_options options;
  lampar_logger logger;
  pthread_mutex_t log_mutex; /* the caller's function gets one line at a time */
  lampar_plan plan;
  lampar_jit_kernels kernels;
  lampar_channel channel; /* world 0: this process alone */
  lampar_driver driver;
  lampar_nccl nccl;
  lampar_jit_share share;
  lampar_pack *pack;
  uint64_t start_ns;
} build;

static const char activity[] = "building together";

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void log_in_turn(void *user, lampar_log_level level, const char *line) {
  build *const b = user;
  pthread_mutex_lock(&b->log_mutex);
  b->options.log(b->options.log_user, level, line);
  pthread_mutex_unlock(&b->log_mutex);
}

/* ---- options ---- */

/* What has to be right before the ranks can reach each other. */
static lampar_status read_options(build *b, const lampar_jit_options *given) {
  lampar_jit_options *const options = &b->options;
  *options = (lampar_jit_options)LAMPAR_JIT_OPTIONS_INIT;
  if (given != NULL)
    LAMPAR_TRY(lampar_sized_read(options, sizeof *options, given, "lampar_jit_options"));
  if (options->exchange != NULL && options->comm != NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_jit_options: exchange and comm are both set; set one");
  if (options->exchange == NULL) return LAMPAR_OK;
  return lampar_channel_over_exchange(&b->channel, activity, options->exchange,
                                      "lampar_jit_options: exchange");
}

static lampar_status open_channel(build *b) {
  if (b->options.comm == NULL) return LAMPAR_OK;
  LAMPAR_TRY(lampar_driver_open(&b->driver));
  LAMPAR_TRY(lampar_nccl_open(&b->nccl));
  LAMPAR_TRY(lampar_channel_over_nccl(&b->channel, activity, &b->driver, &b->nccl, &b->logger,
                                      b->options.comm, LAMPAR_EXCHANGE_TIMEOUT_MS));
  b->logger.rank = b->channel.rank;
  return LAMPAR_OK;
}

static lampar_status check_request(const build *b, const build_request *request) {
  const lampar_jit_options *const options = &b->options;
  if (request->name == NULL || request->pack == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_jit_build: spec, name or pack is NULL");
  if (request->is_text && request->text == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_jit_build_text: text is NULL");
  if (options->world < 0 || options->world > LAMPAR_WORLD_MAX)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT, "lampar_jit_options: world %d (0 to %d)",
                       options->world, LAMPAR_WORLD_MAX);
  if (options->read_folder_count > 0 && options->read_folders == NULL)
    return lampar_fail(LAMPAR_ERROR_ARGUMENT,
                       "lampar_jit_options: read_folders is NULL, read_folder_count is %zu",
                       options->read_folder_count);
  return LAMPAR_OK;
}

static void choose_threads(build *b) {
  cpu_set_t set;
  const size_t cores = sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
  const size_t ranks = b->channel.world > 1 ? (size_t)b->channel.world : 1;
  lampar_jit_kernels *const kernels = &b->kernels;
  kernels->threads = b->options.threads;
  if (kernels->threads == 0) kernels->threads = cores > ranks ? cores / ranks : 1;
}

/* ---- from spec to pack ---- */

/* NULL: the built-in ones. */
static const char *templates_of(const build *b) {
  return b->options.templates != NULL ? b->options.templates
                                      : lampar_variable_text(LAMPAR_VARIABLE_TEMPLATES);
}

static lampar_status make_plan(build *b, const build_request *request) {
  lampar_spec spec = {0};
  lampar_status status = request->is_text
                             ? lampar_spec_read_text(request->name, request->text, &spec)
                             : lampar_spec_read(request->name, &spec, NULL);
  if (status == LAMPAR_OK)
    status = lampar_jit_target_choose(&spec, request->arch, b->options.world);
  if (status == LAMPAR_OK) status = lampar_plan_make(&spec, templates_of(b), &b->plan, NULL);
  lampar_spec_free(&spec);
  return status;
}

static lampar_status find_kernels(build *b, const build_request *request) {
  LAMPAR_TRY(check_request(b, request));
  LAMPAR_TRY(make_plan(b, request));
  LAMPAR_TRY(lampar_jit_kernels_open(&b->plan, &b->kernels));
  LAMPAR_TRY(lampar_cache_open(b->options.read_folders, b->options.read_folder_count,
                               b->options.write_folder, &b->logger, &b->kernels.cache));
  b->kernels.templates = templates_of(b);
  b->kernels.own = (lampar_own_stages){b->plan.stages_folder, b->plan.stages};
  choose_threads(b);
  b->kernels.progress = b->options.progress;
  b->kernels.progress_user = b->options.progress_user;
  return lampar_jit_kernels_find(&b->kernels);
}

static lampar_status write_pack(const build *b, uint8_t **bytes, size_t *size) {
  const lampar_jit_kernels *const kernels = &b->kernels;
  lampar_cubin *const cubins = calloc(kernels->count, sizeof *cubins);
  if (cubins == NULL)
    return lampar_fail(LAMPAR_ERROR_SYSTEM, "%s: out of memory for the pack", b->plan.name);
  for (size_t i = 0; i < kernels->count; ++i) {
    lampar_jit_kernel *const kernel = &kernels->list[i];
    cubins[i] = (lampar_cubin){
        .file = kernel->key.name, .bytes = kernel->code.bytes, .size = kernel->code.size};
  }
  const lampar_status status = lampar_pack_write(&b->plan, cubins, bytes, size);
  free(cubins);
  return status;
}

static lampar_status report_stats(const build *b) {
  lampar_jit_stats stats = LAMPAR_JIT_STATS_INIT;
  stats.kernels = (uint32_t)b->kernels.count;
  for (size_t i = 0; i < b->kernels.count; ++i) {
    const lampar_jit_origin origin = b->kernels.list[i].origin;
    stats.cached += origin == LAMPAR_JIT_CACHED;
    stats.compiled += origin == LAMPAR_JIT_COMPILED;
    stats.received += origin == LAMPAR_JIT_RECEIVED;
  }
  stats.nanoseconds = now_ns() - b->start_ns;
  const char *const folder = lampar_cache_folder(b->kernels.cache);
  lampar_log(&b->logger, LAMPAR_LOG_INFO,
             "%s: %u kernels in %.0f ms: %u from the cache (%s), %u compiled, %u from other ranks",
             b->plan.name, stats.kernels, (double)stats.nanoseconds * 1e-6, stats.cached,
             folder != NULL ? folder : "no folder is written", stats.compiled, stats.received);
  if (b->options.stats == NULL) return LAMPAR_OK;
  return lampar_sized_write(b->options.stats, &stats, sizeof stats, "lampar_jit_stats");
}

static lampar_status open_pack(build *b, const build_request *request) {
  uint8_t *bytes = NULL;
  size_t size = 0;
  LAMPAR_TRY(write_pack(b, &bytes, &size));
  LAMPAR_TRY(lampar_pack_open_owned(bytes, size, request->name, &b->pack));
  return report_stats(b);
}

static lampar_status build_alone(build *b, const build_request *request) {
  LAMPAR_TRY(find_kernels(b, request));
  for (size_t i = 0; i < b->kernels.count; ++i) b->kernels.list[i].is_mine = true;
  LAMPAR_TRY(lampar_jit_kernels_compile(&b->kernels));
  return open_pack(b, request);
}

static lampar_status build_together(build *b, const build_request *request) {
  lampar_jit_kernels *const kernels = &b->kernels;
  lampar_jit_share *const share = &b->share;
  share->channel = &b->channel;
  const lampar_status found = find_kernels(b, request);
  kernels->is_shared = true;
  LAMPAR_TRY(lampar_jit_share_work(share, kernels, found));
  LAMPAR_TRY(lampar_jit_share_code(share, kernels, lampar_jit_kernels_compile(kernels)));
  lampar_status status = lampar_jit_share_receive(share, kernels);
  if (status == LAMPAR_OK) status = open_pack(b, request);
  return lampar_jit_share_vote(share, "pack", status);
}

static lampar_status run(build *b, const build_request *request) {
  LAMPAR_TRY(open_channel(b));
  return b->channel.world > 0 ? build_together(b, request) : build_alone(b, request);
}

static void close_build(build *b) {
  lampar_cache *const cache = b->kernels.cache;
  lampar_pack_close(b->pack);
  lampar_jit_share_close(&b->share);
  lampar_jit_kernels_close(&b->kernels);
  lampar_cache_close(cache);
  lampar_plan_free(&b->plan);
  lampar_channel_close(&b->channel);
  lampar_logger_close(&b->logger);
  pthread_mutex_destroy(&b->log_mutex);
}

static lampar_status answer(const build_request *request, const lampar_jit_options *options) {
  build b = {.start_ns = now_ns(), .log_mutex = PTHREAD_MUTEX_INITIALIZER};
  LAMPAR_TRY(read_options(&b, options));
  lampar_logger_open(&b.logger, b.options.log != NULL ? log_in_turn : NULL, &b, b.channel.rank);
  const lampar_status status = run(&b, request);
  if (status == LAMPAR_OK) {
    *request->pack = b.pack;
    b.pack = NULL;
  }
  close_build(&b);
  return status;
}

lampar_status lampar_jit_build(const char *spec, const char *arch,
                               const lampar_jit_options *options, lampar_pack **pack) {
  return answer(&(build_request){.name = spec, .arch = arch, .pack = pack}, options);
}

lampar_status lampar_jit_build_text(const char *text, const char *name, const char *arch,
                                    const lampar_jit_options *options, lampar_pack **pack) {
  return answer(
      &(build_request){.name = name, .is_text = true, .text = text, .arch = arch, .pack = pack},
      options);
}
