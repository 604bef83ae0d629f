/* The memory of a trial on one rank: host and device memory of the same layout, which is sent, used
 * by calls, and compared as a whole with what must come back. */
#ifndef LAMPAR_TRIAL_IMAGE_H
#define LAMPAR_TRIAL_IMAGE_H

#include "verify/ranks.h"

enum {
  LAMPAR_TRIAL_GUARD_BYTES = 64, /* beside whatever a call may touch */
  LAMPAR_TRIAL_GUARD_VALUE = 0xa5,
  LAMPAR_TRIAL_ALIGNMENT = 16,
  /* A launch into a full queue waits, with the context's lock, for kernels that wait for other
   * ranks of the same context, which then cannot launch: a batch stays well below a queue's length.
   */
  LAMPAR_TRIAL_BATCH_CALLS = 32,
};

typedef struct lampar_trial_image {
  lampar_rank *rank;
  size_t bytes, used; /* how many there are; how many of them the batch needs */
  lampar_device_pointer device;
  char *host;   /* what is sent, then what must come back; pinned */
  char *result; /* what came back; pinned */
} lampar_trial_image;

/* Start from zeros; after a failure, close as well. Errors: DRIVER. */
lampar_status lampar_trial_image_open(lampar_trial_image *image, lampar_rank *rank, size_t bytes);
void lampar_trial_image_close(lampar_trial_image *image);

/* Sends the used bytes and waits for that. Errors: DRIVER. */
lampar_status lampar_trial_image_send(const lampar_trial_image *image);

/* Waits for the calls and starts the way back of the used bytes; then waits for them. Errors:
 * DRIVER, and those of the calls. */
lampar_status lampar_trial_image_fetch(const lampar_trial_image *image);
lampar_status lampar_trial_image_wait(const lampar_trial_image *image);

#endif
