/* A small pack made by hand: its code is no cubin, which the reader does not look into. */
#ifndef PACK_FIXTURE_H
#define PACK_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "pack/pack_format.h"

/* Bytes of a pack with these kernels, sorted already, aligned to 16; the caller frees them. */
uint8_t *pack_fixture(const lampar_variant *variants, size_t count, size_t *size);

/* Puts the right digest into bytes that were changed. */
void pack_fixture_seal(uint8_t *bytes, size_t size);

#endif
