/* The processor's tick counter, as instrumented programs read it: length of a tick, resolution,
 * reliability, and the difference of two consecutive readings. */
#ifndef FSC_SOURCE_TICKS_H
#define FSC_SOURCE_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"

struct fsc_tick_clock {
	const char *name; /* "tsc", "cntvct" */
	double ns;	  /* of one tick */
	double step_ns;	  /* its smallest step */
	double floor[2];  /* median ticks between two consecutive readings: free-running, ordered */
	double mean[2];	  /* mean, without the slowest 1 % */
	double pair_ns[2]; /* what two readings cost: free-running, ordered */
	char grade;	   /* 'A' to 'D' */
	const char *why;   /* what keeps it from an A; NULL */
};

/* Takes about 20 ms. */
void fsc_ticks_measure(struct fsc_tick_clock *ret);
/* Lowers the grade if a process that once read both clocks saw another rate: it has changed since,
 * or the reading is false. */
void fsc_ticks_check(struct fsc_tick_clock *c, uint64_t ticks, uint64_t raw_ns);

#endif
