/* Operands of an epilogue in plan.json and manifest.json. */
#ifndef LAMPAR_OPERAND_JSON_H
#define LAMPAR_OPERAND_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lampar/lampar.h"

/* Adds the list "operands". False: no memory. */
bool lampar_operands_to_json(cJSON *kernel, const lampar_operand_info *operands, uint32_t count);

/* Reads one entry of the list. False: it is damaged. */
bool lampar_operand_from_json(const cJSON *entry, lampar_operand_info *operand);

#endif
