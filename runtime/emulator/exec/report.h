/* Who waits for what, on stderr. */
#ifndef LAMPAR_EMU_REPORT_H
#define LAMPAR_EMU_REPORT_H

#include <stdbool.h>

/* `is_final`: the devices fail after it. Otherwise the clock moves on, to end bounded waits. */
void report_deadlock(bool is_final);

#endif
