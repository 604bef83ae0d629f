/* The interface between a kernel of arch emu and the emulator: the same struct as in
 * templates/parts/emu/language.cuh.in. The kernel's shared object exports
 *   lampar_emu            where the emulator puts the address of its kernel_interface
 *   lampar_emu_bytes      of that struct: the two must be of one version
 *   lampar_emu_parameters bytes of the kernel's one parameter
 *   lampar_emu_shared     bytes of shared memory that a block has, if it has any
 * and needs no other symbol. */
#ifndef LAMPAR_EMU_KERNEL_INTERFACE_H
#define LAMPAR_EMU_KERNEL_INTERFACE_H

typedef struct kernel_index {
  unsigned x, y, z;
} kernel_index;

typedef struct kernel_interface {
  /* Of the lane that runs. */
  kernel_index thread, block, block_size, grid_size;
  char *shared; /* memory of its block */

  void (*load)(void *to, const void *from, unsigned bytes);
  void (*store)(void *to, const void *from, unsigned bytes);
  /* A load in a loop that waits: a lane that sees nothing new at all its addresses sleeps. */
  void (*peek)(void *to, const void *from, unsigned bytes);
  unsigned (*exchange)(unsigned *at, unsigned value);
  void (*publish)(unsigned *to, unsigned value);
  void (*sync_warp)(void);
  void (*wait_for_previous_grid)(void);
  void (*allow_next_grid)(void);
  unsigned long long (*clock_ns)(void);

  /* The value of the lane whose index differs in the bits of `mask`. */
  unsigned long long (*shuffle_xor)(unsigned long long value, unsigned mask);
  void (*sync_block)(void);
  void (*arrive_cluster)(void);
  void (*wait_cluster)(void);
  /* Two barriers of each block, as mbarriers: an arrival announces how many bytes will come. */
  void (*make_barrier)(unsigned barrier, unsigned arrivals);
  void (*arrive)(unsigned barrier, unsigned bytes);
  void (*wait_parity)(unsigned barrier, unsigned parity);
  /* Asynchronously, to where `at` is in the shared memory of another block of the cluster. */
  void (*send)(unsigned block, void *at, const void *value, unsigned bytes, unsigned barrier);

  float (*fmaf)(float a, float b, float c);
  double (*fma)(double a, double b, double c);
} kernel_interface;

enum { KERNEL_PARAMETER_BYTES_MAX = 1024 };

#endif
