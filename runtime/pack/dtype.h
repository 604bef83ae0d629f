/* Element types: size, name, and whether kernels reduce them. */
#ifndef LAMPAR_DTYPE_H
#define LAMPAR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t lampar_dtype_bytes(uint32_t dtype);     /* 0: not a dtype */
size_t lampar_dtype_bits(uint32_t dtype);      /* per element: 4 for f4e2m1x2 */
const char *lampar_dtype_name(uint32_t dtype); /* "bf16"; NULL: not a dtype */
bool lampar_dtype_parse(const char *name, uint32_t *dtype);
bool lampar_dtype_has_kernels(uint32_t dtype); /* bf16, f16, f32 */

#endif
