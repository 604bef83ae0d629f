/* A plan and its compiled kernels as the bytes of a pack (pack_format.h). */
#ifndef LAMPAR_PACK_WRITE_H
#define LAMPAR_PACK_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* One compiled kernel; `file` is used in messages. */
typedef struct lampar_cubin {
  char *file;
  char *bytes;
  size_t size;
} lampar_cubin;

/* `cubins` are in the order of the plan's variants. The same plan and cubins give the same bytes,
 * which are the caller's to free. Errors: ARGUMENT (a cubin without its kernel; names the file),
 * SYSTEM. */
lampar_status lampar_pack_write(const lampar_plan *plan, const lampar_cubin *cubins,
                                uint8_t **bytes, size_t *size);

#endif
