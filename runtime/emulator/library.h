/* Kernels: a "cubin" of arch emu is a shared object of the host. */
#ifndef LAMPAR_EMU_LIBRARY_H
#define LAMPAR_EMU_LIBRARY_H

struct CUfunc_st;

const char *function_name(const struct CUfunc_st *function);

unsigned function_shared_bytes(const struct CUfunc_st *function); /* of each block */

/* Runs it on the calling lane's stack. */
void function_call(const struct CUfunc_st *function, const char *parameters);

#endif
