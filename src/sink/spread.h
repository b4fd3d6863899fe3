/* Histograms of durations in the two kinds of buckets that monitoring uses: few with fixed bounds
 * (Prometheus' classic ones), and many that grow by a constant factor (its native ones, OTLP's
 * exponential ones). Pure arithmetic, in seconds. */
#ifndef FSC_SINK_SPREAD_H
#define FSC_SINK_SPREAD_H

#include "model/snapshot.h"

enum {
	FSC_SPREAD_BOUNDS = 13, /* 1 us, 4 us, ... 16.8 s; longer ones are in the last bucket */
	FSC_SPREAD_SCHEMA = 3,	/* 8 buckets per power of two: each is 9 % wider than the last */
	FSC_SPREAD_LOW = -320,	/* the first native bucket: about 1 ps */
	FSC_SPREAD_HIGH = 280,	/* and the last: more than 2^64 ns */
	FSC_SPREAD_NATIVE = FSC_SPREAD_HIGH - FSC_SPREAD_LOW + 1,
};

struct fsc_spread {
	uint64_t count;	 /* the sum of the buckets */
	double min, max; /* of no calls: 0 */
	/* How long they took in all: of rows in ns, and of those in ticks. Whole numbers, so that
	 * the sum does not depend on the order of the rows: it would go back by a rounding. */
	uint64_t ns;
	double tick_ns;
	uint64_t classic[FSC_SPREAD_BOUNDS + 1]; /* each by itself, not cumulative */
	uint64_t zero;				 /* calls of no measurable duration */
	/* At [i - FSC_SPREAD_LOW], those in (base^(i-1), base^i], base being 2^(1/8): Prometheus'
	 * numbering. OTLP's is one less. */
	uint64_t native[FSC_SPREAD_NATIVE];
	int first, last; /* indices i in use; first > last: none */
	/* One call for each classic bucket, the latest; NULL: none is known. */
	const struct fsc_noted_call *noted[FSC_SPREAD_BOUNDS + 1];
};

/* Of no calls. */
void fsc_spread_init(struct fsc_spread *d);
/* Adds the calls of a row. Each bucket is added whole, at its middle. */
void fsc_spread_add(struct fsc_spread *d, const struct fsc_latency *l);
/* How long all calls took. */
double fsc_spread_sum(const struct fsc_spread *d);
/* Offers an exemplar; a call without a duration is ignored. */
void fsc_spread_note(struct fsc_spread *d, const struct fsc_noted_call *c);

/* The upper bound of a classic bucket in seconds; of the last, infinity. */
double fsc_spread_bound(unsigned i);
/* The native bucket that holds a value greater than 0. */
int fsc_spread_index(double seconds);
static inline double fsc_spread_seconds(const struct fsc_noted_call *c)
{
	return (double)c->call->duration_ns / 1e9;
}

#endif
