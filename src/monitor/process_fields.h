/* What rows of single processes and events say about a process besides its labels: when it started,
 * its program, its command line. */
#ifndef FSC_MONITOR_PROCESS_FIELDS_H
#define FSC_MONITOR_PROCESS_FIELDS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"

enum {
	FSC_PROCESS_FIELDS = 3,
	FSC_PROCESS_FIELD_BYTES =
	    256 /* the most of a text; a longer one ends or begins with "..." */
};
/* Their names, which are words of the configuration, too; ended by NULL. */
extern const char *const fsc_process_field_names[FSC_PROCESS_FIELDS + 1];

/* Appends those whose bit is set, in the order of the names, each ended by a NUL. False: it has
 * exited, or memory is out: then the buffer has failed. The caller releases it after a success. */
bool fsc_process_fields(pid_t pid, unsigned which, struct fsc_buf *b);

#endif
