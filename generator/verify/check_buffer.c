#include "verify/check_buffer.h"

#include "base/error.h"

lampar_status lampar_check_buffer_open(lampar_check_buffer *buffer, lampar_rank *rank,
                                       size_t bytes) {
  const lampar_driver *driver = rank->driver;
  buffer->rank = rank;
  buffer->bytes = bytes;
  LAMPAR_TRY(
      lampar_rank_check(rank, driver->context_set_current(rank->context), "cuCtxSetCurrent"));
  LAMPAR_TRY(lampar_rank_check(rank, driver->memory_alloc(&buffer->device, bytes), "cuMemAlloc"));
  LAMPAR_TRY(lampar_rank_check(
      rank, driver->host_alloc((void **)&buffer->host, bytes, LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc"));
  return lampar_rank_check(
      rank, driver->host_alloc((void **)&buffer->result, bytes, LAMPAR_MEMHOSTALLOC_PORTABLE),
      "cuMemHostAlloc");
}

void lampar_check_buffer_close(lampar_check_buffer *buffer) {
  const lampar_driver *driver = buffer->rank->driver;
  driver->context_set_current(buffer->rank->context);
  if (buffer->device != 0) driver->memory_free(buffer->device);
  if (buffer->host != NULL) driver->host_free(buffer->host);
  if (buffer->result != NULL) driver->host_free(buffer->result);
}

lampar_status lampar_check_buffer_upload(const lampar_check_buffer *buffer) {
  const lampar_rank *rank = buffer->rank;
  LAMPAR_TRY(lampar_rank_check(rank,
                               rank->driver->copy_to_device_async(buffer->device, buffer->host,
                                                                  buffer->used, rank->stream[0]),
                               "cuMemcpyHtoDAsync"));
  return lampar_check_buffer_wait(buffer);
}

lampar_status lampar_check_buffer_download(const lampar_check_buffer *buffer) {
  lampar_rank *rank = buffer->rank;
  LAMPAR_TRY(lampar_rank_finish(rank));
  return lampar_rank_check(rank,
                           rank->driver->copy_to_host_async(buffer->result, buffer->device,
                                                            buffer->used, rank->stream[0]),
                           "cuMemcpyDtoHAsync");
}

lampar_status lampar_check_buffer_wait(const lampar_check_buffer *buffer) {
  return lampar_rank_check(buffer->rank,
                           buffer->rank->driver->stream_synchronize(buffer->rank->stream[0]),
                           "cuStreamSynchronize");
}
