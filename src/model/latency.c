/* Arithmetic on timings: difference, order, quantiles, bins. */
#include "model/latency.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fsc_latencies_release(struct fsc_latencies *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		free(FSC_AT(struct fsc_latency, &l->rows, i)->slot);
	fsc_vec_release(&l->rows);
	*l = (struct fsc_latencies){0};
}

struct fsc_latency *fsc_latencies_add(struct fsc_latencies *l)
{
	struct fsc_slot *slot = calloc(1, sizeof(*slot));
	struct fsc_latency *row = slot ? fsc_vec_push(&l->rows) : NULL;

	if (!row) {
		free(slot);
		return NULL;
	}
	row->slot = slot;
	return row;
}

/* ---- difference ---- */

/* Minimum and maximum according to the histogram's buckets. */
static void bound_by_buckets(struct fsc_slot *s, uint64_t min, uint64_t max)
{
	uint32_t first = 0, last = FSC_HIST_OVER;

	while (first < FSC_HIST_OVER && !s->hist[first])
		first++;
	while (last > first && !s->hist[last])
		last--;
	if (fsc_hist_low(first) > min)
		min = fsc_hist_low(first);
	if (last < FSC_HIST_OVER && fsc_hist_low(last + 1) - 1 < max)
		max = fsc_hist_low(last + 1) - 1;
	s->min_inverted = ~min;
	s->max = max;
}

static void subtract_slot(struct fsc_slot *to, const struct fsc_slot *later,
			  const struct fsc_slot *earlier)
{
	uint64_t *r = (uint64_t *)to;
	const uint64_t *a = (const uint64_t *)later, *b = (const uint64_t *)earlier;

	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		r[i] = a[i] - b[i];
	to->square_high -= later->square_low < earlier->square_low;
	if (!to->count)
		return;
	bound_by_buckets(to, fsc_slot_min(later), later->max);
	if (later->max > earlier->max)
		to->max = later->max;
	if (later->min_inverted > earlier->min_inverted)
		to->min_inverted = later->min_inverted;
}

_Static_assert(!offsetof(struct fsc_latency, key), "see fsc_count_index()");

static int subtract_rows(const struct fsc_latencies *later, const struct fsc_latencies *earlier,
			 const struct fsc_map *index, bool zeros, struct fsc_latencies *ret,
			 struct fsc_err *err)
{
	static const struct fsc_slot none;

	for (size_t i = 0; i < later->rows.n; i++) {
		const struct fsc_latency *row = FSC_AT(struct fsc_latency, &later->rows, i);
		struct fsc_key k = fsc_count_key(&row->key);
		const uint64_t *at = fsc_map_get(index, &k, sizeof(k));
		const struct fsc_slot *was =
		    at ? FSC_AT(struct fsc_latency, &earlier->rows, *at)->slot : &none;
		struct fsc_slot *slot;
		struct fsc_latency *out;

		if (row->slot->count == was->count && !zeros)
			continue;
		out = fsc_latencies_add(ret);
		if (!out)
			return fsc_err_nomem(err);
		slot = out->slot;
		*out = *row;
		out->slot = slot;
		subtract_slot(slot, row->slot, was);
	}
	return 0;
}

int fsc_latencies_subtract(const struct fsc_latencies *later, const struct fsc_latencies *earlier,
			   bool zeros, struct fsc_latencies *ret, struct fsc_err *err)
{
	struct fsc_map index = {0};
	int rc;

	*ret = *later;
	ret->rows = FSC_VEC_INIT(struct fsc_latency);
	rc = fsc_count_index(&earlier->rows, &index, err);
	if (!rc)
		rc = subtract_rows(later, earlier, &index, zeros, ret, err);
	fsc_map_release(&index);
	if (rc)
		fsc_latencies_release(ret);
	return rc;
}

/* ---- statistics of a slot ---- */

void fsc_slot_add(struct fsc_slot *to, const struct fsc_slot *from)
{
	uint64_t max = to->max > from->max ? to->max : from->max;
	uint64_t min =
	    to->min_inverted > from->min_inverted ? to->min_inverted : from->min_inverted;
	uint64_t *r = (uint64_t *)to;
	const uint64_t *a = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(uint64_t); i++)
		r[i] += a[i];
	to->square_high += to->square_low < from->square_low;
	to->max = max;
	to->min_inverted = min;
}

uint64_t fsc_slot_min(const struct fsc_slot *s)
{
	return s->count ? ~s->min_inverted : 0;
}

double fsc_slot_average(const struct fsc_slot *s)
{
	return s->count ? (double)s->total / (double)s->count : 0;
}

double fsc_slot_stddev(const struct fsc_slot *s)
{
	long double n = (long double)s->count, sum = (long double)s->total, var;
	long double squares =
	    (long double)s->square_high * 18446744073709551616.0L + (long double)s->square_low;

	if (s->count < 2)
		return 0;
	var = (squares - sum * sum / n) / (n - 1);
	return var > 0 ? (double)sqrtl(var) : 0;
}

static double clamp(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

double fsc_slot_quantile(const struct fsc_slot *s, double q)
{
	double rank = ceil(q * (double)s->count), min = (double)fsc_slot_min(s);
	uint64_t before = 0;

	if (!s->count)
		return 0;
	if (rank < 1)
		rank = 1;
	for (uint32_t i = 0; i < FSC_HIST_OVER; i++) {
		uint64_t n = s->hist[i];
		double low = (double)fsc_hist_low(i), width = (double)fsc_hist_low(i + 1) - low;

		if ((double)(before + n) < rank) {
			before += n;
			continue;
		}
		/* The middle, not a guess at the distribution within: calls of a function often
		 * take nearly the same time, and the middle is never off by more than 1/64. */
		return clamp(low + (width - 1) / 2, min, (double)s->max);
	}
	return (double)s->max;
}

/* ---- in nanoseconds ---- */

double fsc_latency_ns(const struct fsc_latency *l, double value)
{
	if (!l->ticks.ns)
		return value;
	return value > l->ticks.floor ? (value - l->ticks.floor) * l->ticks.ns : 0;
}

double fsc_latency_average(const struct fsc_latency *l)
{
	double ticks = fsc_slot_average(l->slot) - l->ticks.mean;

	if (!l->ticks.ns)
		return fsc_slot_average(l->slot);
	return clamp(ticks * l->ticks.ns, fsc_latency_ns(l, (double)fsc_slot_min(l->slot)),
		     fsc_latency_ns(l, (double)l->slot->max));
}

/* Assumes a uniform distribution within a bucket, as far as minimum and maximum allow. */
static double histogram_stddev(const struct fsc_slot *s)
{
	double min = (double)fsc_slot_min(s), max = (double)s->max, n = (double)s->count;
	double sum = 0, squares = 0, mean;

	for (int pass = 0; pass < 2; pass++) {
		mean = sum / n;
		for (uint32_t i = 0; i <= FSC_HIST_OVER; i++) {
			double low = clamp((double)fsc_hist_low(i), min, max);
			double high = i == FSC_HIST_OVER
					  ? max
					  : clamp((double)fsc_hist_low(i + 1) - 1, min, max);
			double off = (low + high) / 2 - mean, width = high - low;

			if (!s->hist[i])
				continue;
			if (pass)
				squares += (double)s->hist[i] * (off * off + width * width / 12);
			else
				sum += (double)s->hist[i] * (low + high) / 2;
		}
	}
	return sqrt(squares / (n - 1));
}

double fsc_latency_stddev(const struct fsc_latency *l)
{
	if (!l->ticks.ns)
		return fsc_slot_stddev(l->slot);
	return l->slot->count < 2 ? 0 : histogram_stddev(l->slot) * l->ticks.ns;
}

double fsc_latency_total(const struct fsc_latency *l)
{
	if (!l->ticks.ns)
		return (double)l->slot->total;
	return fsc_latency_average(l) * (double)l->slot->count;
}

bool fsc_latency_tells(const struct fsc_latency *l, double ns, double calls)
{
	/* With --raw a timing is shown with the cost of its mark. */
	if (l->ticks.ns && !(l->ticks.floor > 0))
		return true;
	return !l->slot->count || ns >= l->floor_ns * calls;
}

bool fsc_latency_at_floor(const struct fsc_latency *l)
{
	return l->slot->count && fsc_latency_average(l) < l->floor_ns;
}

bool fsc_latency_mostly_probes(const struct fsc_latency *l)
{
	const struct fsc_slot *s = l->slot;

	/* If the cost is unknown nothing was subtracted; ticks are corrected differently. */
	return l->floor_ns > 0 && !l->ticks.ns && s->raw_total > s->total &&
	       s->raw_total - s->total > s->total;
}

/* ---- order ---- */

struct row_order {
	const struct fsc_latencies *l;
	enum fsc_latency_sort by;
	bool reverse;
};

static double row_weight(const struct fsc_latency *l, enum fsc_latency_sort by)
{
	const struct fsc_slot *s = l->slot;

	switch (by) {
	case FSC_LATENCY_COUNT:
		return (double)s->count;
	case FSC_LATENCY_AVG:
		return fsc_latency_average(l);
	case FSC_LATENCY_MAX:
		return fsc_latency_ns(l, (double)s->max);
	case FSC_LATENCY_P99:
		return fsc_latency_ns(l, fsc_slot_quantile(s, 0.99));
	case FSC_LATENCY_NAME:
		return 0;
	default:
		return fsc_latency_total(l);
	}
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct fsc_latency *a = pa, *b = pb;
	const struct row_order *o = arg;
	double x = row_weight(a, o->by), y = row_weight(b, o->by);
	int r = (y > x) - (y < x);

	if (!r)
		r = fsc_count_compare(o->l->funcs, &a->key, &b->key);
	return o->reverse ? -r : r;
}

static void sort_rows(struct fsc_latencies *l, enum fsc_latency_sort by, bool reverse)
{
	struct row_order o = {l, by, reverse};

	qsort_r(l->rows.data, l->rows.n, sizeof(struct fsc_latency), compare_rows, &o);
}

void fsc_latencies_sort(struct fsc_latencies *l, enum fsc_latency_sort by, bool reverse, size_t top)
{
	if (!l->rows.n)
		return;
	/* The top rows are the heaviest, whatever order they are shown in. */
	if (top && top < l->rows.n) {
		sort_rows(l, by == FSC_LATENCY_NAME ? FSC_LATENCY_TOTAL : by, false);
		for (size_t i = top; i < l->rows.n; i++)
			free(FSC_AT(struct fsc_latency, &l->rows, i)->slot);
		l->rows.n = top;
	}
	sort_rows(l, by, reverse);
}

/* ---- bins ---- */

static int add_bin(struct fsc_vec *ret, double low, double high, struct fsc_err *err)
{
	struct fsc_bin *b = fsc_vec_push(ret);

	if (!b)
		return fsc_err_nomem(err);
	*b = (struct fsc_bin){.low = low, .high = high};
	return 0;
}

bool fsc_latency_bucket(const struct fsc_latency *l, uint32_t *at, struct fsc_bin *ret)
{
	const struct fsc_slot *s = l->slot;

	*ret = (struct fsc_bin){0};
	while (*at <= FSC_HIST_OVER && (!ret->n || ret->high <= 0)) {
		uint32_t i = (*at)++;
		uint64_t high = i == FSC_HIST_OVER ? s->max + 1 : fsc_hist_low(i + 1);

		if (!s->hist[i])
			continue;
		ret->n += s->hist[i];
		ret->low = fsc_latency_ns(l, (double)fsc_hist_low(i));
		ret->high = fsc_latency_ns(l, (double)high);
	}
	if (ret->n && ret->high <= ret->low) /* all of it below the floor */
		ret->high = ret->low + (l->ticks.ns ? l->ticks.ns : 1);
	return ret->n > 0;
}

/* In ns. */
static double bucket_middle(const struct fsc_latency *l, uint32_t i)
{
	return fsc_latency_ns(l, ((double)fsc_hist_low(i) + (double)fsc_hist_low(i + 1) - 1) / 2);
}

int fsc_latency_bins_log2(const struct fsc_latency *l, struct fsc_vec *ret, struct fsc_err *err)
{
	const __u64 *hist = l->slot->hist;
	uint32_t first = 0, last = FSC_HIST_OVER;
	double next;

	while (first <= FSC_HIST_OVER && !hist[first])
		first++;
	while (last > first && !hist[last])
		last--;
	if (first > FSC_HIST_OVER)
		return 0;
	next = bucket_middle(l, first) < 1 ? 0 : exp2(floor(log2(bucket_middle(l, first))));
	if (l->floor_ns >= 1 && next < exp2(floor(log2(l->floor_ns)))) {
		if (add_bin(ret, 0, exp2(floor(log2(l->floor_ns))), err))
			return -ENOMEM;
		next = exp2(floor(log2(l->floor_ns)));
	}
	for (uint32_t i = first; i <= last; i++) {
		while (!ret->n || bucket_middle(l, i) >= next) {
			double low = next;

			next = low < 1 ? 1 : low * 2;
			if (add_bin(ret, low, next, err))
				return -ENOMEM;
		}
		FSC_AT(struct fsc_bin, ret, ret->n - 1)->n += hist[i];
	}
	if (last == FSC_HIST_OVER) /* it has no upper bound */
		FSC_AT(struct fsc_bin, ret, ret->n - 1)->high = INFINITY;
	return 0;
}

int fsc_latency_bins_linear(const struct fsc_latency *l, double min, double max, double step,
			    struct fsc_vec *ret, struct fsc_err *err)
{
	size_t n = (size_t)ceil((max - min) / step), first, last;

	if (min > 0 && add_bin(ret, 0, min, err))
		return -ENOMEM;
	first = ret->n;
	for (size_t i = 0; i < n; i++)
		if (add_bin(ret, min + step * (double)i, min + step * (double)(i + 1), err))
			return -ENOMEM;
	last = ret->n;
	if (add_bin(ret, min + step * (double)n, INFINITY, err))
		return -ENOMEM;
	for (uint32_t i = 0; i <= FSC_HIST_OVER; i++) {
		double mid = bucket_middle(l, i);
		size_t at = mid < min ? 0 : first + (size_t)((mid - min) / step);

		if (l->slot->hist[i])
			FSC_AT(struct fsc_bin, ret, at < last ? at : last)->n += l->slot->hist[i];
	}
	return 0;
}
