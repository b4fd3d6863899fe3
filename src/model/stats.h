/* The statistics of a comparison: whether one sample is larger than the other, by how much, how
 * certainly. Works on logarithms of the measurements, so that a difference is a ratio. Pure
 * arithmetic. */
#ifndef FSC_MODEL_STATS_H
#define FSC_MODEL_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

double fsc_stats_median(const double *sorted, size_t n);
void fsc_stats_sort(double *v, size_t n);
/* The autocorrelation of the ranks at lag 1; 0 if there are too few values. */
double fsc_stats_lag1(const double *v, size_t n);
/* Whether it is significantly positive (one-sided, 5 %). */
bool fsc_stats_lag1_positive(const double *v, size_t n);

/* The sorted differences of two samples (all combinations, or pair by pair), and their statistics.
 */
struct fsc_shift {
	double *diffs; /* owned, sorted: after minus before */
	size_t n_diffs, n_before, n_after;
	bool paired;
	double estimate;
	double p; /* two-sided; null hypothesis: no difference */
	/* For autocorrelated units: the estimate's standard error and degrees of freedom. */
	bool alike;
	double error, freedom;
};

void fsc_shift_release(struct fsc_shift *s);
/* Hodges-Lehmann estimate and Mann-Whitney test. in_time: the units are neighbours in time and may
 * be correlated, which makes the result less certain. */
int fsc_shift_unpaired(const double *before, size_t n_before, const double *after, size_t n_after,
		       bool in_time, struct fsc_shift *ret, struct fsc_err *err);
/* Median of the differences and sign test. */
int fsc_shift_paired(const double *before, const double *after, size_t n, struct fsc_shift *ret,
		     struct fsc_err *err);
/* The interval of confidence 1 - alpha: those differences that a test at alpha would not reject, so
 * it contains 0 exactly where p > alpha. Infinite if there are too few units for alpha. */
void fsc_shift_interval(const struct fsc_shift *s, double alpha, double *ret_low, double *ret_high);
/* The minimum number of units per side (pairs, if paired) for an interval at alpha. */
size_t fsc_shift_least(bool paired, double alpha);

/* Holm's correction of n p-values. corrected[i] is to be compared with alpha. level[i] is the alpha
 * at which an interval agrees with the correction: that of the step at which it was rejected, or of
 * the step at which rejecting ended. */
int fsc_stats_holm(const double *p, size_t n, double alpha, double *corrected, double *level,
		   struct fsc_err *err);

#endif
