/* A copy of a pack without its straight kernels: the way to the looping ones whose range a straight
 * one covers, which are otherwise launched only where a straight one finds no room on the device.
 */
#ifndef LAMPAR_LOOPING_PACK_H
#define LAMPAR_LOOPING_PACK_H

#include "lampar/lampar.h"

/* `*bytes` is the copy, to be freed after the pack is closed. Errors: SYSTEM. */
lampar_status lampar_looping_pack_open(const lampar_pack *pack, void **bytes,
                                       lampar_pack **looping);

#endif
