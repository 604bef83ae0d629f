/* When nothing can run and nobody will come. */
#ifndef LAMPAR_EMU_DEADLOCK_H
#define LAMPAR_EMU_DEADLOCK_H

/* Moves the clock on, so that bounded waits end. When that does not help either, reports who waits
 * for what and fails the devices. */
void deadlock_break(void);

#endif
