/* Comparison of two sides of recordings: how each function's median, tail and mean changed, how
 * certain that is, and a verdict. Pure data, no I/O. */
#ifndef FSC_MODEL_COMPARE_H
#define FSC_MODEL_COMPARE_H

#include "model/units.h"

enum fsc_verdict {
	FSC_SLOWER,
	FSC_FASTER,
	FSC_MIXED, /* of a function: slower in one statistic, faster in another */
	FSC_UNDECIDED,
	FSC_SAME,
	FSC_VERDICTS
};
extern const char *const fsc_verdict_names[];
extern const char *const fsc_replicate_names[]; /* "block", "run" */

/* One statistic of one function. Changes are in percent; infinite if unknown. */
struct fsc_diff {
	const char *why;	    /* why it could not be tested; NULL: it was */
	double before_ns, after_ns; /* median of the units; NAN: unknown */
	double change, low, high;   /* the interval at the corrected level */
	double p, p_corrected;
	size_t units_before, units_after;
	size_t more; /* estimated additional units per side to decide it; 0: unknown, or decided */
	enum fsc_verdict verdict;
};

struct fsc_diff_row {
	const char *kind, *binary, *function; /* owned by the comparison */
	bool at_floor; /* calls too short to be distinguished from the cost of the probes, on either
			  side */
	size_t n_stats; /* FSC_STATS, or 1: one value per run */
	struct fsc_diff stat[FSC_STATS];
	enum fsc_verdict verdict; /* of the function */
};

/* One side compared with itself: differences that the machine itself causes. */
struct fsc_self_check {
	bool done;
	bool unfit;		  /* it found a difference */
	double change, low, high; /* percent */
	double resolution;	  /* percent: smaller differences cannot be detected, roughly */
};

struct fsc_comparison {
	struct fsc_recording names; /* all functions of both sides, without blocks */
	struct fsc_vec rows;	    /* struct fsc_diff_row: functions of both sides */
	struct fsc_vec only_before; /* const struct fsc_recorded *, of names */
	struct fsc_vec only_after;
	enum fsc_replicate unit;
	size_t runs_before, runs_after, tests;
	size_t hidden;		   /* rows beyond top */
	double confidence, margin; /* percent */
	size_t verdicts[FSC_VERDICTS];
	struct fsc_self_check check;
};

struct fsc_compare_opts {
	double confidence, margin; /* percent */
	bool paired;		   /* run i of one side belongs to run i of the other */
};

enum fsc_compare_sort { FSC_COMPARE_VERDICT, FSC_COMPARE_CHANGE, FSC_COMPARE_P, FSC_COMPARE_NAME };

/* The kind of a whole command: one value per run. */
#define FSC_KIND_COMMAND "command"

/* The units are runs if both sides have several, else intervals. The caller releases *ret, which
 * borrows nothing from the sides. */
int fsc_compare(const struct fsc_vec *before, const struct fsc_vec *after,
		const struct fsc_compare_opts *o, struct fsc_comparison *ret, struct fsc_err *err);
void fsc_comparison_release(struct fsc_comparison *c);
/* Sorts the rows and keeps the first top (0: all). The counts include all. */
void fsc_comparison_sort(struct fsc_comparison *c, enum fsc_compare_sort by, size_t top);

/* decided: significant after the correction. */
enum fsc_verdict fsc_verdict_of(const struct fsc_diff *d, bool decided, double margin);

#endif
