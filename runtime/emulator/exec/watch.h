/* Which lanes wait for which addresses, so that a store wakes just those. */
#ifndef LAMPAR_EMU_WATCH_H
#define LAMPAR_EMU_WATCH_H

#include "emulator/exec/hierarchy.h"

bool lane_watches(const emu_lane *lane, uintptr_t vector);
bool lane_watch(emu_lane *lane, uintptr_t vector); /* false: it watches too many */
void lane_forget_watches(emu_lane *lane);

/* A word of memory has changed: for every word that is performed. */
void memory_changed(uintptr_t word);
void memory_changed_range(uintptr_t at, size_t bytes);

#endif
