/* Names and types for the arguments of slow calls. Only registers were kept when the call began, so
 * memory behind pointers is not shown: it may have changed since. */
#ifndef FSC_CMD_SLOW_ARGS_H
#define FSC_CMD_SLOW_ARGS_H

#include "source/calls.h"

struct fsc_slow_args {
	size_t n;
	struct fsc_format *formats;   /* per row; empty: nothing is known */
	struct fsc_returned *returns; /* per row */
	struct fsc_types types;
};

/* The caller releases ret, also after a failure. */
int fsc_slow_args_find(const struct fsc_targets *targets, struct fsc_slow_args *ret,
		       struct fsc_err *err);
void fsc_slow_args_release(struct fsc_slow_args *a);

#endif
