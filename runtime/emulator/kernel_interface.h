/* What a kernel of arch emu and the emulator know of each other: the same struct as in
 * templates/parts/emu/language.cuh.in. The kernel's shared object exports
 *   lampar_emu            where the emulator puts the address of its kernel_interface
 *   lampar_emu_parameters bytes of the kernel's one parameter
 * and needs no symbol of anybody. */
#ifndef LAMPAR_EMU_KERNEL_INTERFACE_H
#define LAMPAR_EMU_KERNEL_INTERFACE_H

typedef struct kernel_index {
  unsigned x, y, z;
} kernel_index;

typedef struct kernel_interface {
  /* Of the lane that runs. */
  kernel_index thread, block, block_size, grid_size;

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
} kernel_interface;

enum { KERNEL_PARAMETER_BYTES_MAX = 1024 };

#endif
