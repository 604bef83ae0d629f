/* Grids and blocks on the devices: how they start, end and are released. */
#ifndef LAMPAR_EMU_GRID_H
#define LAMPAR_EMU_GRID_H

#include "emulator/exec/hierarchy.h"

/* All grids that run, the newest first. */
emu_grid *grids_first(void);
/* All warps on the devices. Valid until the next block starts or ends. */
emu_warp *const *warps_resident(size_t *count);

void grid_start(emu_work *started);
/* It has ended, or its device has failed. */
void grid_release(emu_grid *grid);
/* The work has ended, and all its stores are performed: kernels that started early go on. */
void grids_finish_work(emu_work *finished);

bool block_can_start(const emu_grid *grid);
void block_start(emu_grid *grid);
/* One of the block's threads allows the next grid, or the block has ended. */
void block_allow_next(emu_block *block);

/* The lane has come to its end, and with it perhaps its block and its grid. */
void lane_end(emu_lane *ended);

#endif
