/* A folder of a test's own, with small files in it. Failures end the test. */
#ifndef LAMPAR_TEST_SCRATCH_H
#define LAMPAR_TEST_SCRATCH_H

#include <stddef.h>

enum { SCRATCH_PATH_BYTES = 512 };

typedef struct scratch {
  char folder[SCRATCH_PATH_BYTES];
} scratch;

void scratch_open(scratch *s);

/* Removes the folder and all that is in it. */
void scratch_close(scratch *s);

/* The same around a test, whose state it is; a test that fails leaves nothing either. */
#define scratch_test(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* FOLDER/NAME; the folders in NAME are made. */
void scratch_path(const scratch *s, const char *name, char path[SCRATCH_PATH_BYTES]);

/* Writes the file and gives its path. */
void scratch_write(const scratch *s, const char *name, const void *data, size_t size,
                   char path[SCRATCH_PATH_BYTES]);

#endif
