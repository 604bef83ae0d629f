#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *meaning;
} variables[LAMPAR_VARIABLE_COUNT] = {
    [LAMPAR_VARIABLE_CACHE_DIR] = {"LAMPAR_CACHE_DIR",
                                   "folder for kernels compiled at run time; empty: no cache"},
    [LAMPAR_VARIABLE_DEBUG] = {"LAMPAR_DEBUG", "log level: none (default), warn, info or trace"},
    [LAMPAR_VARIABLE_DEBUG_FILE] = {"LAMPAR_DEBUG_FILE", "log file instead of standard error; %h "
                                                         "is the host, %p the process"},
    [LAMPAR_VARIABLE_DEVICE] = {"LAMPAR_DEVICE",
                                "emu: use the emulated device instead of the CUDA driver and NCCL"},
    [LAMPAR_VARIABLE_DISABLE] = {"LAMPAR_DISABLE", "1: every call of every group goes to NCCL"},
    [LAMPAR_VARIABLE_DISABLE_JIT] = {"LAMPAR_DISABLE_JIT",
                                     "1: compile nothing at run time; a kernel that is not in the "
                                     "cache is an error"},
    [LAMPAR_VARIABLE_EMU_DEVICES] = {"LAMPAR_EMU_DEVICES",
                                     "number of emulated devices, 1 to 16 (default 8)"},
    [LAMPAR_VARIABLE_EMU_GRACE_MS] =
        {"LAMPAR_EMU_GRACE_MS", "milliseconds that blocked emulated devices wait for a sleeping "
                                "host (default 100; 30000 with several processes)"},
    [LAMPAR_VARIABLE_EMU_LIBRARY] = {"LAMPAR_EMU_LIBRARY", "library of the emulated device"},
    [LAMPAR_VARIABLE_EMU_P2P] = {"LAMPAR_EMU_P2P", "0: emulated devices have no peer access"},
    [LAMPAR_VARIABLE_EMU_SEED] = {"LAMPAR_EMU_SEED", "seed of the emulated schedule (default 1)"},
    [LAMPAR_VARIABLE_KERNEL] = {"LAMPAR_KERNEL",
                                "use only kernels whose name matches this glob, in every group"},
    [LAMPAR_VARIABLE_NCCL_LIBRARY] = {"LAMPAR_NCCL_LIBRARY", "NCCL library to load"},
    [LAMPAR_VARIABLE_NVRTC_LIBRARY] = {"LAMPAR_NVRTC_LIBRARY", "NVRTC library to load"},
    [LAMPAR_VARIABLE_STRICT] = {"LAMPAR_STRICT",
                                "1: a call that no kernel takes is an error, in every group"},
    [LAMPAR_VARIABLE_TEMPLATES] = {"LAMPAR_TEMPLATES", "folder of the kernel templates"},
};

const char *lampar_variable_name(enum lampar_variable variable) {
  return variables[variable].name;
}

const char *lampar_variable_meaning(enum lampar_variable variable) {
  return variables[variable].meaning;
}

const char *lampar_variable_text(enum lampar_variable variable) {
  const char *text = getenv(variables[variable].name);
  return text != NULL && text[0] != '\0' ? text : NULL;
}

bool lampar_variable_is_empty(enum lampar_variable variable) {
  const char *text = getenv(variables[variable].name);
  return text != NULL && text[0] == '\0';
}

bool lampar_variable_is_set(enum lampar_variable variable) {
  const char *text = lampar_variable_text(variable);
  return text != NULL && strcmp(text, "0") != 0;
}
