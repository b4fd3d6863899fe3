/* The processor's tick counter, as instrumented programs read it: how long a tick is, how fine it
 * goes, how far it can be trusted, and what two readings with nothing between them say. */
#ifndef FSC_SOURCE_TICKS_H
#define FSC_SOURCE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

struct fsc_tick_clock {
	const char *name;  /* "tsc", "cntvct" */
	double ns;	   /* of one tick */
	double step_ns;	   /* the least it moves */
	double floor[2];   /* ticks between two readings in a row, median: free-running, ordered */
	double mean[2];	   /* and on average, without the slowest hundredth */
	double pair_ns[2]; /* what two readings cost: free-running, ordered */
	char grade;	   /* 'A' to 'D' */
	const char *why;   /* what keeps it from an A; NULL */
};

/* Measures; takes about 20 ms. */
void fsc_ticks_measure(struct fsc_tick_clock *ret);
/* Whether a process that read both clocks at some time saw the same rate; if not, the grade goes
 * down: the rate changed since, or the reading is not true. */
void fsc_ticks_check(struct fsc_tick_clock *c, uint64_t ticks, uint64_t raw_ns);

#endif
