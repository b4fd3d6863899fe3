/* The units of a comparison: single calls are not independent of each other (caches, frequency,
 * neighbours), so what is compared are runs, or blocks of time. Here a function's blocks on both
 * sides become one number per unit. */
#ifndef FSC_MODEL_UNITS_H
#define FSC_MODEL_UNITS_H

#include "model/blocks.h"

enum fsc_statistic { FSC_STAT_P50, FSC_STAT_P99, FSC_STAT_MEAN, FSC_STATS };
extern const char *const fsc_stat_names[];

enum fsc_replicate {
	FSC_REPLICATE_BLOCK, /* stretches of time of one run */
	FSC_REPLICATE_RUN,   /* runs, several on both sides */
	FSC_REPLICATE_PAIR,  /* runs, the i-th of one side belongs to the i-th of the other */
};

/* What one side says of a function: its entry in each run, NULL where the run has none. */
struct fsc_units_side {
	const struct fsc_recorded *const *runs;
	size_t n;
};

enum { FSC_UNITS_LEAST_BLOCKS = 6, FSC_UNITS_KEPT_BLOCKS = 8, FSC_UNITS_MOST_BLOCKS = 32 };
/* A percentile of the tail needs some calls beyond it. */
enum { FSC_UNITS_P99_CALLS = 1000 };

struct fsc_units {
	double *before, *after; /* owned: logarithms of nanoseconds */
	size_t n_before, n_after;
	const char *why; /* they cannot be compared: the reason; NULL: they can */
};

void fsc_units_release(struct fsc_units *u);
/* Blocks are merged until they have enough calls, are 32 at most, and are no longer significantly
 * alike from one to the next, or 8 are left; both sides alike, since the spread and the bias of
 * what a block says depend on its calls. */
int fsc_units_make(enum fsc_replicate unit, enum fsc_statistic stat, struct fsc_units_side before,
		   struct fsc_units_side after, struct fsc_units *ret, struct fsc_err *err);

#endif
