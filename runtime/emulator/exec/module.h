/* Modules and their kernels: a "cubin" of arch emu is a shared object of the host. */
#ifndef LAMPAR_EMU_MODULE_H
#define LAMPAR_EMU_MODULE_H

#include "emulator/exec/kernel_interface.h"

struct CUfunc_st;
struct CUlib_st;

/* Loads the object and gives it the interface. 0, or an error. */
int module_load(const void *code, kernel_interface *interface, struct CUlib_st **module);
void module_unload(struct CUlib_st *module);

/* The kernel of that name, which lives as long as its module. 0, or an error. */
int module_find(struct CUlib_st *module, const char *name, struct CUfunc_st **found);

const char *function_name(const struct CUfunc_st *function);
unsigned function_parameter_bytes(const struct CUfunc_st *function);
unsigned function_shared_bytes(const struct CUfunc_st *function); /* of each block */

/* Runs it on the calling lane's stack. */
void function_call(const struct CUfunc_st *function, const char *parameters);

#endif
