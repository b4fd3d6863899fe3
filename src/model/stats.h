/* The statistics of a comparison: is one sample larger than the other, by how much, how sure. Works
 * on the logarithms of what was measured, so that a difference is a ratio. Pure arithmetic. */
#ifndef FSC_MODEL_STATS_H
#define FSC_MODEL_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The middle of a sorted array. */
double fsc_stats_median(const double *sorted, size_t n);
void fsc_stats_sort(double *v, size_t n);
/* How alike neighbours are: the autocorrelation of their ranks at lag 1; 0 where there are too few
 * to tell. */
double fsc_stats_lag1(const double *v, size_t n);
/* Whether it is larger than chance would make it (one-sided, 5 %). */
bool fsc_stats_lag1_positive(const double *v, size_t n);

/* The ordered differences of two samples (all pairs, or pair by pair), and what they say. */
struct fsc_shift {
	double *diffs; /* owned, sorted: after minus before */
	size_t n_diffs, n_before, n_after;
	bool paired;
	double estimate;
	double p; /* two-sided, of no difference */
	/* Of units that are alike: the estimate's standard error and its degrees of freedom. */
	bool alike;
	double error, freedom;
};

void fsc_shift_release(struct fsc_shift *s);
/* Hodges-Lehmann estimate and Mann-Whitney test. in_time: the units are neighbours in time and may
 * be alike; what is said is then less certain. */
int fsc_shift_unpaired(const double *before, size_t n_before, const double *after, size_t n_after,
		       bool in_time, struct fsc_shift *ret, struct fsc_err *err);
/* Median of the differences and sign test. */
int fsc_shift_paired(const double *before, const double *after, size_t n, struct fsc_shift *ret,
		     struct fsc_err *err);
/* The interval of confidence 1 - alpha: those differences that a test at alpha would not reject, so
 * it contains 0 exactly where p > alpha. Infinite where there are too few units for alpha. */
void fsc_shift_interval(const struct fsc_shift *s, double alpha, double *ret_low, double *ret_high);
/* How many units a side (pairs, if paired) it takes at least for an interval at alpha. */
size_t fsc_shift_least(bool paired, double alpha);

/* Holm's correction of n p-values for being many. corrected[i] is compared with alpha. level[i] is
 * the alpha at which an interval says the same as the correction: that of the step at which it was
 * rejected, or of the step at which rejecting ended. */
int fsc_stats_holm(const double *p, size_t n, double alpha, double *corrected, double *level,
		   struct fsc_err *err);

#endif
