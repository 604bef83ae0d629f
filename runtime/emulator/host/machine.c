#include "emulator/host/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/environment.h"

emu_host host = {.lock = PTHREAD_MUTEX_INITIALIZER};

void machine_enter(void) {
  atomic_fetch_add(&host.inside, 1);
  pthread_mutex_lock(&host.lock);
}

int machine_leave(int result) {
  pthread_mutex_unlock(&host.lock);
  atomic_fetch_sub(&host.inside, 1);
  return result;
}

static bool read_number(enum lampar_variable variable, uint64_t low, uint64_t high,
                        uint64_t fallback, uint64_t *value) {
  const char *text = lampar_variable_text(variable);
  *value = fallback;
  if (text == NULL) return true;
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 0);
  if (errno == 0 && *end == '\0' && *text != '-' && *value >= low && *value <= high) return true;
  fprintf(stderr, "lampar-emu: %s=%s: give a number from %llu to %llu\n",
          lampar_variable_name(variable), text, (unsigned long long)low, (unsigned long long)high);
  return false;
}

/* As CUDA reads it: numbers, as far as they are devices. */
static void choose_devices(void) {
  const char *text = getenv("CUDA_VISIBLE_DEVICES");
  if (text == NULL) {
    for (int i = 0; i < emu.device_count; ++i) host.numbers[i] = i;
    return;
  }
  int count = 0;
  char *end;
  for (; count < DEVICES_MAX; text = end + 1) {
    const long number = strtol(text, &end, 10);
    if (end == text || number < 0 || number >= emu.device_count) break;
    host.numbers[count++] = (int)number;
    if (*end != ',') break;
  }
  emu.device_count = count;
}

/* All that the environment decides. Devices are made once; a new seed counts at once. */
void machine_set_seed(uint64_t seed) {
  emu.random = emu.seed = seed;
}

bool machine_configure(void) {
  uint64_t devices, access, grace, seed;
  if (!read_number(LAMPAR_VARIABLE_EMU_DEVICES, 1, DEVICES_MAX, 8, &devices) ||
      !read_number(LAMPAR_VARIABLE_EMU_P2P, 0, 1, 1, &access) ||
      !read_number(LAMPAR_VARIABLE_EMU_GRACE_MS, 1, 3600000, 0, &grace) ||
      !read_number(LAMPAR_VARIABLE_EMU_SEED, 0, UINT64_MAX, 1, &seed))
    return false;
  host.has_peer_access = access != 0;
  host.grace_ms = (int)grace;
  if (host.is_initialised) return true;
  machine_set_seed(seed);
  emu.device_count = (int)devices;
  for (int i = 0; i < DEVICES_MAX; ++i) host.contexts[i].device = i;
  choose_devices();
  host.is_initialised = true;
  return true;
}
