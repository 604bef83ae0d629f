/* A fuzz target without libFuzzer: runs each file of the kept corpus once, so that the corpus is a
 * regression test with every compiler. Usage: replay FOLDER */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "spec/files.h"

size_t fuzz_accepted;

enum { INPUT_BYTES_MAX = 1 << 20 };

static int replay(const char *path) {
  char *text;
  size_t size;
  if (lampar_file_read(path, INPUT_BYTES_MAX, &text, &size) != LAMPAR_OK) {
    fprintf(stderr, "%s\n", lampar_last_error());
    return 1;
  }
  LLVMFuzzerTestOneInput((const uint8_t *)text, size);
  free(text);
  return 0;
}

int main(int argc, char **argv) {
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (folder == NULL) {
    fprintf(stderr, "usage: %s FOLDER: the corpus\n", argv[0]);
    return 2;
  }
  int failures = 0;
  size_t count = 0;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[4096];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    failures += replay(path);
    ++count;
  }
  closedir(folder);
  printf("%zu inputs, %zu accepted\n", count, fuzz_accepted);
  if (fuzz_accepted == 0)
    fprintf(stderr,
            "%s: every input is refused: the corpus is older than the format; make it "
            "again with corpus.sh\n",
            argv[1]);
  return failures > 0 || fuzz_accepted == 0;
}
