/* How long calls took: sums and histogram per function or key, and statistics of them. Pure data,
 * no I/O. */
#ifndef FSC_MODEL_LATENCY_H
#define FSC_MODEL_LATENCY_H

#include "model/profile.h"
#include "wire/time.h"

/* The unit of a slot that is not in nanoseconds. */
struct fsc_ticks {
	double ns;    /* of one; 0: the slot counts nanoseconds */
	double floor; /* measured duration of an empty call; subtracted from what is shown */
	double mean;  /* its mean, subtracted from averages */
	bool ordered; /* clock reads were serialised */
};

struct fsc_label; /* model/snapshot.h */

/* The latest single calls of a row, if the source keeps them. */
struct fsc_recent {
	uint64_t n;	 /* how many are kept */
	double slow[10]; /* ns: the slowest of them, slowest first */
	unsigned n_slow;
};

/* One row of a timing: a function, its keys, and what was measured. */
struct fsc_latency {
	struct fsc_count key;  /* its count is not used */
	struct fsc_slot *slot; /* owned */
	struct fsc_ticks ticks;
	struct fsc_recent recent;
	double floor_ns; /* cost of the probes, already subtracted */
	double hit_ns;	 /* what the probes cost for each call; 0: unknown */
	bool folded;	 /* of a monitor: one of too many, exported in one sum with the others */
	/* Of a monitor, borrowed: labels of its processes, the same names in all rows; and what is
	 * known of a single process. */
	const struct fsc_label *labels, *fields;
	size_t n_labels, n_fields;
};

/* Requested columns besides the durations. */
struct fsc_latency_parts {
	bool self, off_cpu, slow, raw, recent;
};

struct fsc_latencies {
	const struct fsc_func *funcs;
	size_t n_funcs;
	uint32_t by;	     /* enum fsc_by */
	struct fsc_vec rows; /* struct fsc_latency */
	struct fsc_latency_parts parts;
	uint64_t time_ns; /* wall clock at the snapshot */
	double seconds;	  /* duration; 0: no rates are shown */
};

enum fsc_latency_sort {
	FSC_LATENCY_TOTAL,
	FSC_LATENCY_COUNT,
	FSC_LATENCY_AVG,
	FSC_LATENCY_MAX,
	FSC_LATENCY_P99,
	FSC_LATENCY_NAME,
};

void fsc_latencies_release(struct fsc_latencies *l);
/* Adds a row with a zeroed slot; NULL: out of memory. */
struct fsc_latency *fsc_latencies_add(struct fsc_latencies *l);
/* Computes `later - earlier`. Minimum and maximum of the interval come from its histogram, unless
 * those of the run changed in it. Rows without calls are left out unless zeros. */
int fsc_latencies_subtract(const struct fsc_latencies *later, const struct fsc_latencies *earlier,
			   bool zeros, struct fsc_latencies *ret, struct fsc_err *err);
/* Sorts the rows (greatest first, or by name) and keeps the first top (0: all). */
void fsc_latencies_sort(struct fsc_latencies *l, enum fsc_latency_sort by, bool reverse,
			size_t top);

/* Values of the slot in ns. There are no squares of ticks: their deviation is computed from the
 * histogram. */
double fsc_latency_ns(const struct fsc_latency *l, double value);
double fsc_latency_average(const struct fsc_latency *l);
double fsc_latency_stddev(const struct fsc_latency *l);
double fsc_latency_total(const struct fsc_latency *l);
/* The value below which a share q (0 to 1) of the calls lie, from the histogram; off by at most 1.6
 * %, and never outside minimum and maximum. 0 if there are no calls. */
double fsc_slot_quantile(const struct fsc_slot *s, double q);
void fsc_slot_add(struct fsc_slot *to, const struct fsc_slot *from);
double fsc_slot_average(const struct fsc_slot *s);
double fsc_slot_stddev(const struct fsc_slot *s);
uint64_t fsc_slot_min(const struct fsc_slot *s);
/* Whether a duration of the row can be told from the cost of its probes: of one call, or a sum over
 * so many. One that cannot is shown as less than the floor times the calls. */
bool fsc_latency_tells(const struct fsc_latency *l, double ns, double calls);
/* Whether the calls are too short to be distinguished from the cost of the probes. */
bool fsc_latency_at_floor(const struct fsc_latency *l);
/* Whether more was subtracted from the calls than is left: then the result is as uncertain as the
 * cost of the probes. */
bool fsc_latency_mostly_probes(const struct fsc_latency *l);

struct fsc_bin {
	double low, high; /* ns */
	uint64_t n;
};
/* The next nonempty bucket, in full resolution, in ascending order; false: there are no more. *at
 * starts at 0. Buckets below the floor are merged with the first one above it. */
bool fsc_latency_bucket(const struct fsc_latency *l, uint32_t *at, struct fsc_bin *ret);

/* Bins by powers of two, from the first to the last nonempty one; those that the floor is above of
 * are one. Appends struct fsc_bin. */
int fsc_latency_bins_log2(const struct fsc_latency *l, struct fsc_vec *ret, struct fsc_err *err);
/* Bins of width step from min to max, and one on either side for values outside. */
int fsc_latency_bins_linear(const struct fsc_latency *l, double min, double max, double step,
			    struct fsc_vec *ret, struct fsc_err *err);

#endif
