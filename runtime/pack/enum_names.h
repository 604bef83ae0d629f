/* Names of a variant's enum values, as specs, plans and templates write them. */
#ifndef LAMPAR_ENUM_NAMES_H
#define LAMPAR_ENUM_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* NULL: not a value of the enum. */
const char *lampar_algorithm_name(uint32_t algorithm); /* "epilogue_only", "oneshot", "twoshot" */
const char *lampar_rounding_name(uint32_t rounding);   /* "unfused", "fp32" */
const char *lampar_granularity_name(uint32_t granularity); /* "element", "column", "row", ... */
const char *lampar_trigger_name(uint32_t trigger);         /* "off", "early", "exit" */
bool lampar_algorithm_parse(const char *name, uint32_t *algorithm);
bool lampar_rounding_parse(const char *name, uint32_t *rounding);
bool lampar_granularity_parse(const char *name, uint32_t *granularity);
bool lampar_trigger_parse(const char *name, uint32_t *trigger);

#endif
