/* How this stretch of the run behaves: some mistakes show only when stores are very late, others
 * when one device, or some of the warps, are slow. */
#ifndef LAMPAR_EMU_PACE_H
#define LAMPAR_EMU_PACE_H

#include <stdint.h>

enum { SLOW_EVERY = 4 };

typedef struct emu_pace {
  uint32_t switches; /* one in so many accesses */
  /* Every so many steps; 0: only when nothing else moves. */
  uint32_t performs;   /* a buffer is looked at */
  uint32_t starts;     /* a ready work or block starts */
  int slow_device;     /* -1: none */
  unsigned slow_warps; /* index within the block, modulo SLOW_EVERY; more: none */
} emu_pace;

extern emu_pace pace;

/* For each kernel, and whenever the host has enqueued works. */
void pace_draw(void);

#endif
