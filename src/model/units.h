/* The units of a comparison: single calls are not independent of each other (caches, frequency,
 * neighbours), so runs, or intervals, are compared. Here a function's blocks on both sides become
 * one number per unit. */
#ifndef FSC_MODEL_UNITS_H
#define FSC_MODEL_UNITS_H

#include "model/blocks.h"

enum fsc_statistic { FSC_STAT_P50, FSC_STAT_P99, FSC_STAT_MEAN, FSC_STATS };
extern const char *const fsc_stat_names[];

enum fsc_replicate {
	FSC_REPLICATE_BLOCK, /* intervals of one run */
	FSC_REPLICATE_RUN,   /* runs, several on both sides */
	FSC_REPLICATE_PAIR,  /* runs; run i of one side belongs to run i of the other */
};

/* A function on one side: its entry in each run, or NULL. */
struct fsc_units_side {
	const struct fsc_recorded *const *runs;
	size_t n;
};

enum { FSC_UNITS_LEAST_BLOCKS = 6, FSC_UNITS_KEPT_BLOCKS = 8, FSC_UNITS_MOST_BLOCKS = 32 };
/* A tail percentile needs some calls beyond it. */
enum { FSC_UNITS_P99_CALLS = 1000 };

struct fsc_units {
	double *before, *after; /* owned: logarithms of nanoseconds */
	size_t n_before, n_after;
	const char *why; /* why they cannot be compared; NULL: they can */
};

void fsc_units_release(struct fsc_units *u);
/* Blocks are merged until they have enough calls, are at most 32, and are no longer significantly
 * autocorrelated, or 8 are left; in the same way on both sides, since variance and bias of a
 * block's value depend on its number of calls. */
int fsc_units_make(enum fsc_replicate unit, enum fsc_statistic stat, struct fsc_units_side before,
		   struct fsc_units_side after, struct fsc_units *ret, struct fsc_err *err);

#endif
