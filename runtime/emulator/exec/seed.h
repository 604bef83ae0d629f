/* How to run the same schedule again. */
#ifndef LAMPAR_EMU_SEED_H
#define LAMPAR_EMU_SEED_H

/* Prints the seed and the command line on stderr. */
void report_seed(void);

#endif
