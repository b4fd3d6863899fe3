/* Which return values of a function are errors, when the configuration does not say; and the tables
 * of their names, row by row. */
#ifndef FSC_MONITOR_ERRORS_H
#define FSC_MONITOR_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/config.h"

/* Row i of a rule's table, in the order of codes; NULL behind the last one. */
const char *fsc_errors_row(enum fsc_error_rule rule, size_t i, int64_t *ret_code);
/* The words of the configuration for the rules, by enum fsc_error_rule; NULL-ended. */
extern const char *const fsc_error_rules[FSC_ERRORS_MAX + 1];

#endif
