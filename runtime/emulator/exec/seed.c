#include "emulator/exec/seed.h"

#include <inttypes.h>
#include <stdio.h>

#include "emulator/exec/devices.h"

void report_seed(void) {
  char command[512];
  FILE *file = fopen("/proc/self/cmdline", "r");
  const size_t length = file != NULL ? fread(command, 1, sizeof command - 1, file) : 0;
  if (file != NULL) fclose(file);
  for (size_t i = 0; i + 1 < length; ++i)
    if (command[i] == '\0') command[i] = ' ';
  command[length] = '\0';
  fprintf(stderr, "lampar-emu: again with: LAMPAR_EMU_SEED=%" PRIu64 " LAMPAR_DEVICE=emu %s\n",
          emu.seed, command);
}
