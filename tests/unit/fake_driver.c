#include "fake_driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_driver fake;

struct CUstream_st *fake_stream(int number) {
  return (struct CUstream_st *)(uintptr_t)number;
}

static int number_of(const struct CUstream_st *stream) {
  return (int)(uintptr_t)stream;
}

__attribute__((format(printf, 1, 2))) static int done(const char *format, ...) {
  const size_t length = strlen(fake.log);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fake.log + length, sizeof fake.log - length, format, arguments);
  va_end(arguments);
  return LAMPAR_CUDA_SUCCESS;
}

static int memory_alloc(lampar_device_pointer *pointer, size_t bytes) {
  void *memory = malloc(bytes);
  memset(memory, FAKE_DIRT, bytes);
  *pointer = (uintptr_t)memory;
  return LAMPAR_CUDA_SUCCESS;
}

static int memory_free(lampar_device_pointer pointer) {
  free((void *)(uintptr_t)pointer);
  return done("free; ");
}

static int memory_alloc_async(lampar_device_pointer *pointer, size_t bytes,
                              struct CUstream_st *stream) {
  memory_alloc(pointer, bytes);
  return done("alloc %d; ", number_of(stream));
}

static int memory_free_async(lampar_device_pointer pointer, struct CUstream_st *stream) {
  free((void *)(uintptr_t)pointer);
  return done("free %d; ", number_of(stream));
}

static int host_alloc(void **pointer, size_t bytes, unsigned flags) {
  (void)flags;
  lampar_device_pointer memory;
  memory_alloc(&memory, bytes);
  *pointer = (void *)(uintptr_t)memory;
  return LAMPAR_CUDA_SUCCESS;
}

static int host_free(void *pointer) {
  free(pointer);
  return done("free host; ");
}

static int host_device_pointer(lampar_device_pointer *device, void *host, unsigned flags) {
  (void)flags;
  *device = (uintptr_t)host;
  return LAMPAR_CUDA_SUCCESS;
}

static int memset_d32_async(lampar_device_pointer pointer, unsigned value, size_t words,
                            struct CUstream_st *stream) {
  for (size_t i = 0; i < words; ++i)
    memcpy((char *)(uintptr_t)pointer + i * sizeof value, &value, sizeof value);
  return done("set %d; ", number_of(stream));
}

static int copy_2d_async(const lampar_copy_2d *copy, struct CUstream_st *stream) {
  if (fake.copy_count < FAKE_COPIES_MAX) fake.copies[fake.copy_count++] = *copy;
  return done("copy %d; ", number_of(stream));
}

static int stream_synchronize(struct CUstream_st *stream) {
  return done("wait %d; ", number_of(stream));
}

static int stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags) {
  (void)event, (void)flags;
  return done("event before %d; ", number_of(stream));
}

static int stream_capture_info(struct CUstream_st *stream, int *status, uint64_t *id,
                               struct CUgraph_st **graph,
                               const struct CUgraphNode_st *const **dependencies, size_t *count) {
  (void)stream, (void)graph, (void)dependencies, (void)count;
  *status = fake.capture_status;
  if (id != NULL) *id = fake.capture;
  return LAMPAR_CUDA_SUCCESS;
}

static int event_create(struct CUevent_st **event, unsigned flags) {
  (void)flags;
  *event = (struct CUevent_st *)&fake;
  return LAMPAR_CUDA_SUCCESS;
}

static int event_destroy(struct CUevent_st *event) {
  (void)event;
  return done("event destroyed; ");
}

static int event_record(struct CUevent_st *event, struct CUstream_st *stream) {
  (void)event;
  return done("event after %d; ", number_of(stream));
}

/* A kernel's name is its handle. */
static int library_load(struct CUlib_st **library, const void *code, int *jit_options,
                        void **jit_values, unsigned jit_count, int *options, void **values,
                        unsigned count) {
  (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
  *library = (struct CUlib_st *)(uintptr_t)code;
  return LAMPAR_CUDA_SUCCESS;
}

static int library_unload(struct CUlib_st *library) {
  (void)library;
  return done("unload; ");
}

static int library_kernel(struct CUkern_st **kernel, struct CUlib_st *library, const char *name) {
  (void)library;
  *kernel = (struct CUkern_st *)(uintptr_t)name;
  return LAMPAR_CUDA_SUCCESS;
}

static int kernel_function(struct CUfunc_st **function, struct CUkern_st *kernel) {
  *function = (struct CUfunc_st *)kernel;
  return LAMPAR_CUDA_SUCCESS;
}

static int function_load(struct CUfunc_st *function) {
  return done("load %s; ", (const char *)function);
}

static int occupancy_blocks(int *blocks, struct CUfunc_st *function, int threads, size_t shared) {
  (void)function, (void)shared;
  fake.asked_threads = threads;
  *blocks = fake.blocks;
  return LAMPAR_CUDA_SUCCESS;
}

static int occupancy_clusters(int *clusters, struct CUfunc_st *function,
                              const lampar_launch_config *config) {
  (void)function;
  fake.asked_threads = (int)config->block_x;
  fake.asked_grid = config->grid_x;
  fake.asked_cluster = config->attributes[0].value.cluster_dimension.x;
  *clusters = fake.clusters;
  return LAMPAR_CUDA_SUCCESS;
}

static int launch(const lampar_launch_config *config, struct CUfunc_st *function, void **parameters,
                  void **extra) {
  (void)extra;
  fake.config = *config;
  for (unsigned i = 0; i < config->attribute_count; ++i) fake.attributes[i] = config->attributes[i];
  fake.function = function;
  memcpy(&fake.arguments, parameters[0], sizeof fake.arguments);
  return done("launch %d; ", number_of(config->stream));
}

static int all_reduce(const void *input, void *output, size_t count, int dtype, int op,
                      struct ncclComm *comm, struct CUstream_st *stream) {
  (void)comm;
  fake.reduce_input = input;
  fake.reduce_output = output;
  fake.reduce_count = count;
  fake.reduce_dtype = dtype;
  fake.reduce_op = op;
  return done("reduce %d; ", number_of(stream));
}

void fake_open(lampar_driver *driver, lampar_nccl *nccl) {
  fake = (fake_driver){.blocks = 1, .clusters = 1};
  *driver = (lampar_driver){.memory_alloc = memory_alloc,
                            .memory_free = memory_free,
                            .memory_alloc_async = memory_alloc_async,
                            .memory_free_async = memory_free_async,
                            .host_alloc = host_alloc,
                            .host_free = host_free,
                            .host_device_pointer = host_device_pointer,
                            .memset_d32_async = memset_d32_async,
                            .copy_2d_async = copy_2d_async,
                            .stream_synchronize = stream_synchronize,
                            .stream_wait_event = stream_wait_event,
                            .stream_capture_info = stream_capture_info,
                            .event_create = event_create,
                            .event_destroy = event_destroy,
                            .event_record = event_record,
                            .library_load = library_load,
                            .library_unload = library_unload,
                            .library_kernel = library_kernel,
                            .kernel_function = kernel_function,
                            .function_load = function_load,
                            .occupancy_blocks = occupancy_blocks,
                            .occupancy_clusters = occupancy_clusters,
                            .launch = launch};
  *nccl = (lampar_nccl){.all_reduce = all_reduce};
}
