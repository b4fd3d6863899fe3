/* Processes by their name. */
#ifndef FSC_PROC_NAMED_H
#define FSC_PROC_NAMED_H

#include <sys/types.h>

#include "base/err.h"

/* Calls fn for each process whose command name, or whose program's file name, is this one; never
 * for ourselves. Stops at the first that is not 0. */
int fsc_processes_named(const char *name, int (*fn)(pid_t pid, void *arg, struct fsc_err *err),
			void *arg, struct fsc_err *err);

#endif
