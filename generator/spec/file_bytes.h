/* All bytes of an open file, in one call: interrupted and partial system calls are continued. */
#ifndef LAMPAR_FILE_BYTES_H
#define LAMPAR_FILE_BYTES_H

#include <stddef.h>

/* Reads `size` bytes from the file's position on. 0, ENODATA (the file ends before), or the errno
 * of what failed. */
int lampar_file_bytes_read(int file, void *bytes, size_t size);

/* Writes the bytes and syncs the file, so that it is whole before it gets its name. 0, or the errno
 * of what failed. */
int lampar_file_bytes_write(int file, const void *bytes, size_t size);

#endif
