/* Layers in a row on the emulated device, under many schedules: each call's residual is what the
 * call before it stored, with nothing between the two kernels but their order in the stream.
 *   layers_test PACK WORLD HIDDEN SCHEDULES
 * The pack has residual+layernorm in f32. Exit status: 0 right, 1 found something. Every row holds
 * one number, so that its residual is known exactly and its normalised elements are the bias. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "verify/ranks.h"

enum { ROWS = 24, LAYERS = 14, WATCHDOG_MS = 1000 };

static const uint64_t layer_rows[] = {2, 1, 2, ROWS, 1, 2, 5};
enum { ROW_COUNTS = sizeof layer_rows / sizeof layer_rows[0] };

static const float bias_value = 3;

typedef enum place { INPUT, OUTPUT, RESIDUAL, WEIGHT, BIAS, PLACES } place;

typedef struct memory {
  lampar_device_pointer at[PLACES];
  uint64_t hidden;
} memory;

static lampar_status fill(memory *memory, const lampar_rank *rank, place place, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const size_t words = ROWS * memory->hidden;
  LAMPAR_TRY(lampar_rank_check(
      rank, rank->driver->memory_alloc(&memory->at[place], words * sizeof value), "cuMemAlloc"));
  return lampar_rank_check(
      rank, rank->driver->memset_d32_async(memory->at[place], bits, words, rank->stream[0]),
      "cuMemsetD32Async");
}

static void *pointer(const memory *memory, place place) {
  return (void *)(uintptr_t)memory->at[place];
}

static lampar_status run_layer(const memory *memory, lampar_rank *rank, int layer) {
  const lampar_operand operands[] = {
      {.name = "residual", .data = pointer(memory, RESIDUAL), .dtype = LAMPAR_F32},
      {.name = "residual_out", .data = pointer(memory, RESIDUAL), .dtype = LAMPAR_F32},
      {.name = "layernorm_weight", .data = pointer(memory, WEIGHT), .dtype = LAMPAR_F32},
      {.name = "layernorm_bias", .data = pointer(memory, BIAS), .dtype = LAMPAR_F32},
      {.name = "eps", .value = 1e-5f, .dtype = LAMPAR_F32},
  };
  lampar_call call = LAMPAR_CALL_INIT;
  call.input = pointer(memory, INPUT);
  call.output = pointer(memory, OUTPUT);
  call.rows = layer_rows[layer % ROW_COUNTS];
  call.hidden = memory->hidden;
  call.dtype = LAMPAR_F32;
  call.epilogue = "residual+layernorm";
  call.operands = operands;
  call.operand_count = sizeof operands / sizeof operands[0];
  return lampar_all_reduce(rank->group, &call, rank->stream[0]);
}

static lampar_status check_rows(const memory *memory, const lampar_rank *rank, place place,
                                float *host) {
  const float sum = (float)(rank->world * (rank->world + 1) / 2);
  LAMPAR_TRY(lampar_rank_check(
      rank,
      rank->driver->copy_to_host_async(host, memory->at[place],
                                       ROWS * memory->hidden * sizeof *host, rank->stream[0]),
      "cuMemcpyDtoHAsync"));
  LAMPAR_TRY(lampar_rank_check(rank, rank->driver->stream_synchronize(rank->stream[0]),
                               "cuStreamSynchronize"));
  for (uint64_t row = 0; row < ROWS; ++row) {
    int layers = 0;
    for (int layer = 0; layer < LAYERS; ++layer) layers += row < layer_rows[layer % ROW_COUNTS];
    const float expected = place == OUTPUT ? bias_value : sum * (float)layers;
    for (uint64_t i = 0; i < memory->hidden; ++i) {
      const float value = host[row * memory->hidden + i];
      if (value != expected)
        return lampar_fail(
            LAMPAR_ERROR_MISMATCH, "rank %d: wrong %s: row %llu, element %llu is %g, expected %g",
            rank->rank, place == OUTPUT ? "output" : "residual", (unsigned long long)row,
            (unsigned long long)i, (double)value, (double)expected);
    }
  }
  return LAMPAR_OK;
}

static lampar_status run_layers(lampar_rank *rank, void *user) {
  memory memory = {.hidden = *(const uint64_t *)user};
  float *host = calloc(ROWS * memory.hidden, sizeof *host);
  lampar_status status = host ? LAMPAR_OK : lampar_fail(LAMPAR_ERROR_SYSTEM, "out of memory");
  const float values[PLACES] = {
      [INPUT] = (float)(rank->rank + 1), [RESIDUAL] = 0, [WEIGHT] = 1, [BIAS] = bias_value};
  for (place place = 0; place < PLACES && status == LAMPAR_OK; ++place)
    status = fill(&memory, rank, place, values[place]);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  for (int layer = 0; layer < LAYERS && status == LAMPAR_OK; ++layer)
    status = run_layer(&memory, rank, layer);
  if (status == LAMPAR_OK) status = lampar_rank_barrier(rank);
  if (status == LAMPAR_OK) status = lampar_rank_finish(rank);
  if (status == LAMPAR_OK) status = check_rows(&memory, rank, RESIDUAL, host);
  if (status == LAMPAR_OK) status = check_rows(&memory, rank, OUTPUT, host);
  for (place place = 0; place < PLACES; ++place)
    if (memory.at[place]) rank->driver->memory_free(memory.at[place]);
  free(host);
  return status;
}

static lampar_status run_schedule(lampar_ranks *ranks, lampar_pack *pack, uint64_t hidden) {
  lampar_group_config config = LAMPAR_GROUP_CONFIG_INIT;
  config.enable = 1;
  config.strict = 1;
  config.watchdog_ms = WATCHDOG_MS;
  config.programmatic_launch = 1;
  LAMPAR_TRY(lampar_ranks_open_group(ranks, &pack, 1, &config));
  const lampar_status status = lampar_ranks_run(ranks, run_layers, &hidden);
  const lampar_status closed = lampar_ranks_close_group(ranks);
  return status != LAMPAR_OK ? status : closed;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: layers_test PACK WORLD HIDDEN SCHEDULES\n");
    return 2;
  }
  const int world = atoi(argv[2]), schedules = atoi(argv[4]);
  const uint64_t hidden = strtoull(argv[3], NULL, 10);
  lampar_pack *pack = NULL;
  lampar_ranks *ranks = NULL;
  setenv("LAMPAR_DEVICE", "emu", 1);
  lampar_status status = lampar_pack_open(argv[1], &pack);
  if (status == LAMPAR_OK) status = lampar_ranks_create(0, world, 0, &ranks);
  if (status == LAMPAR_OK) status = lampar_ranks_set_world(ranks, world);
  for (int schedule = 1; schedule <= schedules && status == LAMPAR_OK; ++schedule) {
    status = lampar_ranks_set_schedule(ranks, (uint64_t)schedule);
    if (status == LAMPAR_OK) status = run_schedule(ranks, pack, hidden);
    if (status != LAMPAR_OK) printf("schedule %d: ", schedule);
  }
  printf("%d layers: %s\n", LAYERS, status == LAMPAR_OK ? "right" : lampar_last_error());
  lampar_ranks_destroy(ranks);
  lampar_pack_close(pack);
  return status != LAMPAR_OK;
}
