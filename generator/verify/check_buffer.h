/* The memory of a batch of calls on one rank: a host and a device buffer of the same layout. The
 * host's bytes are uploaded, used by the calls, downloaded, and compared as a whole. */
#ifndef LAMPAR_CHECK_BUFFER_H
#define LAMPAR_CHECK_BUFFER_H

#include "verify/ranks.h"

enum {
  LAMPAR_GUARD_BYTES = 64, /* next to everything that a call may touch */
  LAMPAR_GUARD_VALUE = 0xa5,
  LAMPAR_BUFFER_ALIGNMENT = 16,
};

typedef struct lampar_check_buffer {
  lampar_rank *rank;
  size_t bytes, used; /* capacity; bytes that the batch needs */
  lampar_device_pointer device;
  char *host;   /* uploaded, then the expected bytes; pinned */
  char *result; /* downloaded; pinned */
} lampar_check_buffer;

/* Start from zeros; after a failure, close as well. Errors: DRIVER. */
lampar_status lampar_check_buffer_open(lampar_check_buffer *buffer, lampar_rank *rank,
                                       size_t bytes);
void lampar_check_buffer_close(lampar_check_buffer *buffer);

/* Copies the used bytes to the device and waits. Errors: DRIVER. */
lampar_status lampar_check_buffer_upload(const lampar_check_buffer *buffer);

/* Waits for the calls, starts copying the used bytes back, then waits for the copy. Errors: DRIVER,
 * and those of the calls. */
lampar_status lampar_check_buffer_download(const lampar_check_buffer *buffer);
lampar_status lampar_check_buffer_wait(const lampar_check_buffer *buffer);

#endif
