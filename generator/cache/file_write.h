/* All of a file's bytes, on the disk before the file gets its name. */
#ifndef LAMPAR_FILE_WRITE_H
#define LAMPAR_FILE_WRITE_H

#include <stddef.h>

/* Writes the bytes to an open file and syncs it. 0, or the errno of what failed. */
int lampar_file_write(int file, const void *bytes, size_t size);

#endif
