#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache_list.h"
#include "cache/cache_place.h"
#include "cli/doctor/doctor.h"

void lampar_doctor_cache(lampar_diagnosis *diagnosis) {
  lampar_cache_place place;
  lampar_cache_list list;
  lampar_cache_place_find(&place);
  if (place.path[0] == '\0') {
    lampar_diagnosis_add(
        diagnosis, LAMPAR_FINDING_NOTE, "cache",
        "name a folder in LAMPAR_CACHE_DIR; without one, every start compiles again", "none (%s)",
        place.source);
    return;
  }
  if (lampar_cache_list_read(place.path, &list) != LAMPAR_OK) {
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "cache",
                         "fix the folder, or name another one in LAMPAR_CACHE_DIR", "%s (from %s)",
                         lampar_last_error(), place.source);
    return;
  }
  if (access(place.path, F_OK) == 0 && access(place.path, W_OK) != 0)
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_NOTE, "cache",
                         "make the folder writable, or name another one in LAMPAR_CACHE_DIR",
                         "%s (from %s), %zu files: %s", place.path, place.source, list.count,
                         strerror(errno));
  else
    lampar_diagnosis_add(diagnosis, LAMPAR_FINDING_OK, "cache", NULL, "%s (from %s), %zu files",
                         place.path, place.source, list.count);
  lampar_cache_list_free(&list);
}
