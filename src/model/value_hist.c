/* Histograms of scripts: counts by bucket become buckets with limits in words. */
#include <stdio.h>

#include "model/value.h"

/* The first and the last bucket that is not empty; false: all are. */
static bool hist_find_ends(const uint64_t *counts, size_t n, size_t *first, size_t *last)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!counts[i])
			continue;
		if (!any)
			*first = i;
		*last = i;
		any = true;
	}
	return any;
}

/* Where bucket i ends and the next begins. The numbers below 2^(bits + 1) have a bucket each; above
 * them limits are shown with the largest unit that divides their power of two. */
static struct fsc_value hist_limit(struct fsc_values *a, size_t i, unsigned bits)
{
	static const char units[] = " KMGTPE";
	unsigned power, unit;
	uint64_t steps;
	char text[32];

	if (i <= 2ull << bits)
		return fsc_value_int((int64_t)i);
	power = (unsigned)(i >> bits) - 1;
	unit = power / 10;
	steps = (1ull << bits) + (i & ((1ull << bits) - 1));
	snprintf(text, sizeof(text), "%llu%.*s", (unsigned long long)(steps << (power - 10 * unit)),
		 unit != 0, &units[unit]);
	return fsc_value_symbol(a, text, power < 64 ? steps << power : 0);
}

static struct fsc_value value_of_buckets(struct fsc_values *a, size_t n)
{
	struct fsc_value v = {.kind = FSC_VALUE_HIST, .hist = {.n = n}};

	v.hist.at = fsc_values_alloc(a, n * sizeof(struct fsc_bucket));
	return v.hist.at ? v : (struct fsc_value){0};
}

struct fsc_value fsc_value_hist(struct fsc_values *a, const uint64_t *counts, size_t n,
				unsigned bits)
{
	size_t first = 0, last = 0;
	bool any = hist_find_ends(counts, n, &first, &last);
	struct fsc_value v = value_of_buckets(a, any ? last - first + 1 : 0);

	for (size_t i = 0; v.kind && i < v.hist.n; i++) {
		struct fsc_bucket *b = &v.hist.at[i];
		size_t at = first + i;

		if (at)
			b->min = hist_limit(a, at - 1, bits);
		b->max = hist_limit(a, at, bits);
		b->count = counts[at];
	}
	return v;
}

static struct fsc_value lhist_limit(struct fsc_values *a, int64_t number, int64_t step)
{
	enum { KILO = 1024, MEGA = 1024 * 1024 };
	char text[32];

	if (step % KILO)
		return fsc_value_int(number);
	if (number && number % MEGA == 0)
		snprintf(text, sizeof(text), "%lldM", (long long)(number / MEGA));
	else if (number && number % KILO == 0)
		snprintf(text, sizeof(text), "%lldK", (long long)(number / KILO));
	else
		snprintf(text, sizeof(text), "%lld", (long long)number);
	return fsc_value_symbol(a, text, (uint64_t)number);
}

struct fsc_value fsc_value_lhist(struct fsc_values *a, const uint64_t *counts, size_t n,
				 int64_t min, int64_t max, int64_t step)
{
	size_t first = 0, last = 0;
	bool any = hist_find_ends(counts, n, &first, &last);
	struct fsc_value v = value_of_buckets(a, any ? last - first + 1 : 0);

	for (size_t i = 0; v.kind && i < v.hist.n; i++) {
		struct fsc_bucket *b = &v.hist.at[i];
		int64_t at = (int64_t)(first + i);

		if (at)
			b->min = lhist_limit(a, min + (at - 1) * step, step);
		if (min + at * step <= max)
			b->max = lhist_limit(a, min + at * step, step);
		b->count = counts[at];
	}
	return v;
}
