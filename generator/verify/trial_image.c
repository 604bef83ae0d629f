#include "verify/trial_image.h"

#include "base/error.h"

lampar_status lampar_trial_image_open(lampar_trial_image *image, lampar_rank *rank, size_t bytes) {
  const lampar_driver *driver = rank->driver;
  image->rank = rank;
  image->bytes = bytes;
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->context_set_current(rank->context), "cuCtxSetCurrent"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->memory_alloc(&image->device, bytes), "cuMemAlloc"));
  LAMPAR_TRY(lampar_rank_check(
      rank, driver->host_alloc((void **)&image->host, bytes, LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc"));
  return lampar_rank_check(
      rank, driver->host_alloc((void **)&image->result, bytes, LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc");
}

void lampar_trial_image_close(lampar_trial_image *image) {
  const lampar_driver *driver = image->rank->driver;
  driver->context_set_current(image->rank->context);
  if (image->device != 0) driver->memory_free(image->device);
  if (image->host != NULL) driver->host_free(image->host);
  if (image->result != NULL) driver->host_free(image->result);
}

lampar_status lampar_trial_image_send(const lampar_trial_image *image) {
  const lampar_rank *rank = image->rank;
  LAMPAR_TRY(lampar_rank_check(
      rank,
      rank->driver->copy_to_device_async(image->device, image->host, image->used, rank->stream[0]),
      "cuMemcpyHtoDAsync"));
  return lampar_trial_image_wait(image);
}

lampar_status lampar_trial_image_fetch(const lampar_trial_image *image) {
  lampar_rank *rank = image->rank;
  LAMPAR_TRY(lampar_rank_finish(rank));
  return lampar_rank_check(
      rank,
      rank->driver->copy_to_host_async(image->result, image->device, image->used, rank->stream[0]),
      "cuMemcpyDtoHAsync");
}

lampar_status lampar_trial_image_wait(const lampar_trial_image *image) {
  return lampar_rank_check(image->rank,
                           image->rank->driver->stream_synchronize(image->rank->stream[0]),
                           "cuStreamSynchronize");
}
