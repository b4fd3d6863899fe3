/* How often a function was called while nobody watched, from windows in which it was watched: an
 * interval that holds 19 times in 20, or nothing. Pure arithmetic. */
#ifndef FSC_MODEL_SAMPLING_H
#define FSC_MODEL_SAMPLING_H

#include <stdbool.h>

/* What was seen of a function in windows that opened at random moments. */
struct fsc_sampling {
	unsigned n;		/* windows */
	double hits;		/* in them */
	double rates, squares;	/* sums; a rate is hits by the target's own CPU time, in ns */
	double lowest, highest; /* sums of what the rates may be if hits cost more or less */
	bool blind;		/* the probes took most of a window */
	bool known;		/* some rate is: */
	double least, most;	/* in a window or before the first one */
};

/* Hits, CPU time and the part of it that probes took, of one window. All must be meant to last
 * equally long: in the mean of their rates each counts the same. */
void fsc_sampling_add(struct fsc_sampling *s, double hits, double cpu_ns, double cost_ns);
/* Something was seen that is not a window, because it did not begin at random: before the function
 * was first left alone. */
void fsc_sampling_know(struct fsc_sampling *s, double hits, double own_ns);
/* Calls in unwatched_ns of the target's own CPU time; false: that cannot be told. */
bool fsc_sampling_estimate(const struct fsc_sampling *s, double unwatched_ns, double *ret_low,
			   double *ret_high);

#endif
