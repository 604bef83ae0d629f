/* The formats of quantised results and the layouts of their scales, from their definitions: e4m3
 * and e2m1 and e8m0 of the OCP microscaling formats (e4m3: no infinities, NaN is all ones; e2m1:
 * neither; e8m0: an exponent with bias 127). */
#ifndef LAMPAR_FORMATS_H
#define LAMPAR_FORMATS_H

#include <stddef.h>
#include <stdint.h>

/* Exact. A NaN for 0x7f and 0xff. */
float lampar_e4m3_decode(uint8_t bits);

/* To nearest, ties to even; beyond 448 it stays 448, with the sign; every NaN is 0x7f. */
uint8_t lampar_e4m3_encode(float value);

/* The low four bits. Exact. */
float lampar_e2m1_decode(uint8_t bits);

/* To nearest, ties to even; beyond 6 it stays 6, with the sign; a NaN is +6 (0x7). */
uint8_t lampar_e2m1_encode(float value);

/* The e8m0 of the smallest power of two that is not below a positive number: 2^127 at most, and of
 * those that are normal in fp32; 2^-127 for zero. */
uint8_t lampar_e8m0_above(float value);

/* Of an array of `rows` rows of `groups` scales, all in elements of the array. */

/* Columns one after the other, `stride` apart, as GEMMs with scales by group read them. */
size_t lampar_layout_columns(uint64_t row, uint64_t group, uint64_t stride);

/* Tiles of 128 rows x 4 groups, 512 bytes each, tiles along a row first; within a tile as in
 * cuBLAS's documentation, "1D Block Scaling Factors Layout", which CUTLASS shares:
 * (row % 32) * 16 + (row / 32) * 4 + group. */
size_t lampar_layout_tiles(uint64_t row, uint64_t group, uint64_t groups);

/* Bytes of all tiles, padding included. */
size_t lampar_layout_tiles_bytes(uint64_t rows, uint64_t groups);

#endif
