/* How timings are shown: options shared by time and attach. */
#ifndef FSC_CMD_TIMINGS_H
#define FSC_CMD_TIMINGS_H

#include "base/opt.h"
#include "model/latency.h"
#include "sink/sink.h"

struct fsc_timings_opts {
	bool reverse, histogram, wide;
	int sort, unit;
	unsigned top;
	const char *linear;
};

extern const struct fsc_opt fsc_timings_opts[];

/* Sets up the sink; a usage error if --linear is invalid. */
int fsc_timings_apply(const struct fsc_timings_opts *o, struct fsc_sink *sink, struct fsc_err *err);
/* Sorts the rows and keeps the first N. */
void fsc_timings_sort(const struct fsc_timings_opts *o, struct fsc_latencies *l);

#endif
