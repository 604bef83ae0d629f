/* A copy of a pack without its single-pass kernels: the way to the persistent ones whose range a
 * single-pass one covers, which are otherwise launched only where a single-pass one finds no room
 * on the device.
 */
#ifndef LAMPAR_LOOPING_PACK_H
#define LAMPAR_LOOPING_PACK_H

#include "lampar/lampar.h"

/* `*bytes` is the copy, to be freed after the pack is closed. Errors: SYSTEM. */
lampar_status lampar_looping_pack_open(const lampar_pack *pack, void **bytes,
                                       lampar_pack **persistent);

#endif
