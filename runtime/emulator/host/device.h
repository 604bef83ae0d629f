/* The device of the calling thread. */
#ifndef LAMPAR_EMU_DEVICE_H
#define LAMPAR_EMU_DEVICE_H

/* The device of the calling thread's context; -1: it has none. */
int device_current(void);

#endif
