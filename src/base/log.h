/* What the program says besides its data: always on stderr, always one line, always with names from
 * outside made safe for a terminal. */
#ifndef FSC_BASE_LOG_H
#define FSC_BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

enum fsc_log_level { FSC_LOG_ERROR, FSC_LOG_WARN, FSC_LOG_NOTE, FSC_LOG_DEBUG };

/* What is below the level is not printed; FSC_LOG_NOTE at start. */
void fsc_log_set_level(enum fsc_log_level level);
/* What lines begin with, by level, in place of our name: an array that stays as it is. */
void fsc_log_set_prefixes(const char *const *prefixes);
bool fsc_log_shows(enum fsc_log_level level);
void fsc_log(enum fsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a failure and its hint as one sentence. */
void fsc_log_err(const struct fsc_err *err);

#endif
