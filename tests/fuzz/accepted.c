#include "fuzz.h"

size_t fuzz_accepted;
