/* How long calls took: per function or key, the sums and the histogram, and what can be told from
 * them. Pure data, no I/O. */
#ifndef FSC_MODEL_LATENCY_H
#define FSC_MODEL_LATENCY_H

#include "model/profile.h"
#include "wire/time.h"

/* What a slot counts where that is not nanoseconds. */
struct fsc_ticks {
	double ns;    /* of one; 0: the slot counts nanoseconds */
	double floor; /* what a call that does nothing reads; taken out of what is shown */
	double mean;  /* likewise on average, taken out of averages */
	bool ordered; /* the clock was read in the order of the program */
};

/* The latest calls of a line, each by itself, where the source keeps them. */
struct fsc_recent {
	uint64_t n;	 /* so many are kept */
	double slow[10]; /* ns: the slowest of them, slowest first */
	unsigned n_slow;
};

/* One line of a timing: a function, the keys asked for, and what was measured. */
struct fsc_latency {
	struct fsc_count key;  /* its count is not used */
	struct fsc_slot *slot; /* owned */
	struct fsc_ticks ticks;
	struct fsc_recent recent;
	double floor_ns; /* what the probes themselves take, already taken out */
	bool folded;	 /* of a monitor: one of too many, sent on in one sum with the others */
};

/* What was asked for beyond the durations. */
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
	double seconds;	  /* that it took; 0: no rates are shown */
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
/* Adds a line with a slot of its own, all zero; NULL where memory is out. */
struct fsc_latency *fsc_latencies_add(struct fsc_latencies *l);
/* Makes `later - earlier`. The least and greatest value of a stretch are those of its histogram,
 * unless the run's own changed in it. Lines without calls are left out unless zeros. */
int fsc_latencies_subtract(const struct fsc_latencies *later, const struct fsc_latencies *earlier,
			   bool zeros, struct fsc_latencies *ret, struct fsc_err *err);
/* Orders the lines (greatest first, or by name) and keeps the first top (0: all). */
void fsc_latencies_sort(struct fsc_latencies *l, enum fsc_latency_sort by, bool reverse,
			size_t top);

/* A value of the slot, averages, deviation and sums over calls, in ns. Of ticks there are no
 * squares: their deviation is the histogram's. */
double fsc_latency_ns(const struct fsc_latency *l, double value);
double fsc_latency_average(const struct fsc_latency *l);
double fsc_latency_stddev(const struct fsc_latency *l);
double fsc_latency_total(const struct fsc_latency *l);
/* The value below which a share q (0 to 1) of the calls lie, from the histogram; off by 1.6 % at
 * most, and never outside the least and greatest value. 0 where there are no calls. */
double fsc_slot_quantile(const struct fsc_slot *s, double q);
/* Adds what another measured. */
void fsc_slot_add(struct fsc_slot *to, const struct fsc_slot *from);
double fsc_slot_average(const struct fsc_slot *s);
double fsc_slot_stddev(const struct fsc_slot *s);
uint64_t fsc_slot_min(const struct fsc_slot *s);
/* Whether the calls are too short to be told from the probes' own cost. */
bool fsc_latency_at_floor(const struct fsc_latency *l);
/* Whether more was taken out of the calls than is left: what is left is as uncertain as the probes'
 * cost then. */
bool fsc_latency_mostly_probes(const struct fsc_latency *l);

struct fsc_bin {
	double low, high; /* ns */
	uint64_t n;
};
/* The next bucket with calls in it, in full resolution, by its lower end; false: there is none any
 * more. *at begins with 0. What lies below the floor is one bucket with the first that does not. */
bool fsc_latency_bucket(const struct fsc_latency *l, uint32_t *at, struct fsc_bin *ret);

/* Histograms for the eye: bins of equal width, or doubling ones. */
/* Bins by powers of two, from the first to the last that is not empty. Appends struct fsc_bin. */
int fsc_latency_bins_log2(const struct fsc_latency *l, struct fsc_vec *ret, struct fsc_err *err);
/* Bins of step from min to max, and one on either side for what lies outside. */
int fsc_latency_bins_linear(const struct fsc_latency *l, double min, double max, double step,
			    struct fsc_vec *ret, struct fsc_err *err);

#endif
