/* Devices and their primary contexts. */
#include <stdio.h>
#include <string.h>

#include "emulator/host/device.h"
#include "emulator/host/machine.h"

static _Thread_local emu_context *current;

int device_current(void) {
  return current != NULL ? current->device : -1;
}

int cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  machine_enter();
  return machine_leave(machine_configure() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

int lampar_emu_set_seed(uint64_t seed) {
  machine_enter();
  machine_set_seed(seed);
  return machine_leave(CUDA_SUCCESS);
}

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

static const struct {
  int error;
  const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "cuInit was not called"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "no such device"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "not a kernel image"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "the thread has no context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the kernel image is not of arch emu, or of another machine"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "no peer access between the devices"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "no kernel of that name"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "the work has not ended"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel used a bad address"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel can never end"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is enabled already"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     "a kernel or collective did what is not allowed"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "not allowed while a stream is being captured"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "the capture was begun on another stream"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "a stream of the capture was not joined to its first"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "a captured and an uncaptured stream would depend on each other"},
};

static const char *describe(int error, bool wants_name) {
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; ++i)
    if (errors[i].error == error) return wants_name ? errors[i].name : errors[i].text;
  return NULL;
}

int cuGetErrorName(int error, const char **name) {
  *name = describe(error, true);
  return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text) {
  *text = describe(error, false);
  return *text != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool is_device(int device) {
  return device >= 0 && device < emu.device_count;
}

int cuDeviceGetCount(int *count) {
  if (!host.is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *count = emu.device_count;
  return CUDA_SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
  if (!host.is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

int cuDeviceGetName(char *name, int bytes, int device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, (size_t)bytes, "lampar emulated device");
  return CUDA_SUCCESS;
}

int cuDeviceGetUuid_v2(lampar_uuid *uuid, int device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  memcpy(uuid->bytes, "lampar-emulated", 15);
  uuid->bytes[15] = (char)host.numbers[device];
  return CUDA_SUCCESS;
}

/* Compute capability 0.1: no GPU has it, and the runtime takes it for the arch emu. */
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
  case LAMPAR_DEVICE_MULTIPROCESSOR_COUNT: *value = MULTIPROCESSORS; break;
  case LAMPAR_DEVICE_COMPUTE_CAPABILITY_MAJOR: *value = 0; break;
  case LAMPAR_DEVICE_COMPUTE_CAPABILITY_MINOR: *value = 1; break;
  default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  machine_enter();
  *can = device != peer && host.has_peer_access;
  return machine_leave(CUDA_SUCCESS);
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to) {
  if (!is_device(from) || !is_device(to) || from == to) return CUDA_ERROR_INVALID_DEVICE;
  if (attribute != LAMPAR_P2P_ACCESS_SUPPORTED && attribute != LAMPAR_P2P_NATIVE_ATOMIC_SUPPORTED)
    return CUDA_ERROR_INVALID_VALUE;
  machine_enter();
  *value = host.has_peer_access;
  return machine_leave(CUDA_SUCCESS);
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = &host.contexts[device];
  return CUDA_SUCCESS;
}

/* Primary contexts live as long as the process. */
int cuDevicePrimaryCtxRelease_v2(int device) {
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

int cuCtxGetCurrent(struct CUctx_st **context) {
  *context = current;
  return CUDA_SUCCESS;
}

int cuCtxSetCurrent(struct CUctx_st *context) {
  current = context;
  return CUDA_SUCCESS;
}

int cuCtxGetDevice(int *device) {
  *device = device_current();
  return *device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

int cuCtxEnablePeerAccess(struct CUctx_st *peer, unsigned flags) {
  const int device = device_current();
  if (device < 0 || peer == NULL) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (device == peer->device) return CUDA_ERROR_INVALID_DEVICE;
  machine_enter();
  if (!host.has_peer_access) return machine_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  uint32_t *peers = &emu.devices[device].peers;
  const bool was_enabled = *peers >> peer->device & 1;
  *peers |= 1u << peer->device;
  return machine_leave(was_enabled ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS);
}
