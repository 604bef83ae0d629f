/* An NVRTC that compiles nothing: its version and archs are what FAKE_NVRTC_FACTS says, "12.4 80
 * 89". */
#include <stdio.h>
#include <stdlib.h>

#define ENTRY __attribute__((visibility("default")))

static const char *facts(void) {
  const char *text = getenv("FAKE_NVRTC_FACTS");
  return text != NULL ? text : "13.0 80 89 90 100 103 120";
}

ENTRY int nvrtcVersion(int *major, int *minor) {
  return sscanf(facts(), "%d.%d", major, minor) == 2 ? 0 : 1;
}

static int list(int *archs) {
  int count = 0, arch, used, skipped = 0;
  const char *at = facts();
  sscanf(at, "%*s%n", &skipped);
  for (at += skipped; sscanf(at, "%d%n", &arch, &used) == 1; at += used) {
    if (archs != NULL) archs[count] = arch;
    ++count;
  }
  return count;
}

ENTRY int nvrtcGetNumSupportedArchs(int *count) {
  *count = list(NULL);
  return 0;
}

ENTRY int nvrtcGetSupportedArchs(int *archs) {
  list(archs);
  return 0;
}

#define REFUSES(name)                                                                              \
  ENTRY int name(void);                                                                            \
  ENTRY int name(void) {                                                                           \
    return 1;                                                                                      \
  }
REFUSES(nvrtcCreateProgram)
REFUSES(nvrtcCompileProgram)
REFUSES(nvrtcDestroyProgram)
REFUSES(nvrtcGetCUBINSize)
REFUSES(nvrtcGetCUBIN)
REFUSES(nvrtcGetProgramLogSize)
REFUSES(nvrtcGetProgramLog)

ENTRY const char *nvrtcGetErrorString(int result);
ENTRY const char *nvrtcGetErrorString(int result) {
  return result == 0 ? "success" : "the stand-in compiles nothing";
}
