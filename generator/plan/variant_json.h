/* A variant's fields and operands in plan.json and manifest.json. */
#ifndef LAMPAR_VARIANT_JSON_H
#define LAMPAR_VARIANT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "pack/variant.h"

/* Adds "name", every field and "operands". False: out of memory. */
bool lampar_variant_to_json(cJSON *entry, const lampar_variant *variant);

/* Reads what lampar_variant_to_json adds. False: something is missing, damaged, or not what a plan
 * makes. */
bool lampar_variant_from_json(const cJSON *entry, lampar_variant *variant);

#endif
