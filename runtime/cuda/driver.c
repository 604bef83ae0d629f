#include "cuda/driver.h"

#include "base/error.h"

lampar_status lampar_driver_open(lampar_driver *driver) {
  bool emulated;
  LAMPAR_TRY(lampar_device_is_emulated(&emulated));
  if (emulated) LAMPAR_TRY(lampar_library_open_emulator(&driver->library, LAMPAR_ERROR_DRIVER));
  else
    LAMPAR_TRY(
        lampar_library_open(&driver->library, NULL, "libcuda.so.1", "cuInit", LAMPAR_ERROR_DRIVER));

#define FIND(field, symbol, parameters)                                                            \
  {                                                                                                \
    void *address;                                                                                 \
    LAMPAR_TRY(lampar_library_symbol(&driver->library, #symbol, &address, LAMPAR_ERROR_DRIVER));   \
    *(void **)&driver->field = address;                                                            \
  }
  LAMPAR_DRIVER_FUNCTIONS(FIND)
#undef FIND
  return lampar_driver_check(driver, driver->init(0), "cuInit");
}

lampar_status lampar_driver_check(const lampar_driver *driver, int result, const char *what) {
  if (result == LAMPAR_CUDA_SUCCESS) return LAMPAR_OK;
  const char *name = NULL, *text = NULL;
  driver->error_name(result, &name);
  driver->error_string(result, &text);
  if (result == LAMPAR_CUDA_ERROR_CAPTURE_UNSUPPORTED ||
      result == LAMPAR_CUDA_ERROR_CAPTURE_IMPLICIT)
    return lampar_fail(
        LAMPAR_ERROR_CAPTURE,
        "%s is not allowed while a stream is being captured: do it before the capture", what);
  return lampar_fail(LAMPAR_ERROR_DRIVER, "%s: %s, %s", what, name != NULL ? name : "unknown error",
                     text != NULL ? text : "no text");
}

lampar_status lampar_driver_capability(const lampar_driver *driver, int device,
                                       uint32_t *capability) {
  int major, minor;
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->device_attribute(&major, LAMPAR_DEVICE_COMPUTE_CAPABILITY_MAJOR, device),
      "cuDeviceGetAttribute"));
  LAMPAR_TRY(lampar_driver_check(
      driver, driver->device_attribute(&minor, LAMPAR_DEVICE_COMPUTE_CAPABILITY_MINOR, device),
      "cuDeviceGetAttribute"));
  *capability = (uint32_t)(major * 10 + minor);
  return LAMPAR_OK;
}
