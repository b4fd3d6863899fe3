/* What `trace` was asked for, from the command line to a program for each place. */
#ifndef FSC_CMD_TRACING_H
#define FSC_CMD_TRACING_H

#include "base/err.h"
#include "engine/session.h"
#include "probe/target.h"
#include "probe/tracespec.h"
#include "source/calls.h"
#include "types/types.h"

struct fsc_tracing {
	struct fsc_tracespec *specs;
	size_t n_specs;
	char **probes; /* the part the other commands take too; owned by the specs */
	bool waits;    /* something is only known when the call returns */
	/* after compiling */
	size_t n_rows;
	struct fsc_trace_prog *programs; /* per row */
	struct fsc_format *formats;	 /* per row */
	uint32_t *ring_of;		 /* per row */
	struct fsc_returned *returns;	 /* per row, where types are known */
	bool symbols;			 /* an address is shown as a symbol */
	struct fsc_types types;		 /* what formats point to */
};

/* Parses the specs. Caller releases, also after a failure. */
int fsc_tracing_parse(char *const *texts, int n, struct fsc_tracing *ret, struct fsc_err *err);
/* Makes the programs of all places, and puts them into the session's options with what they need.
 * paired: entry and return are probed together. chars: length at which texts are cut. */
int fsc_tracing_compile(struct fsc_tracing *t, const struct fsc_targets *targets, bool paired,
			unsigned chars, struct fsc_session_opts *opts, struct fsc_err *err);
void fsc_tracing_release(struct fsc_tracing *t);

#endif
