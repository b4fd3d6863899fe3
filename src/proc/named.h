/* Finds processes by name. */
#ifndef FSC_PROC_NAMED_H
#define FSC_PROC_NAMED_H

#include <sys/types.h>

#include "base/err.h"

/* Calls fn for each process, except this one, whose command name or program's file name is name,
 * until fn returns non-zero. */
int fsc_processes_named(const char *name, int (*fn)(pid_t pid, void *arg, struct fsc_err *err),
			void *arg, struct fsc_err *err);

#endif
