/* src/wire/hist.h and src/model/latency.h: the histogram's arithmetic over its whole range, and
 * what is told of one function from it (quantiles, deviation, bins) against the same told from the
 * values themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/latency.h"
#include "slots.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the histogram ---- */

static void every_bucket_begins_where_it_says(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < FSC_HIST_OVER; i++) {
		uint64_t low = fsc_hist_low(i), next = fsc_hist_low(i + 1);

		assert_int_equal(fsc_hist_bucket(low), i);
		assert_int_equal(fsc_hist_bucket(next - 1), i);
		assert_int_equal(fsc_hist_bucket(next), i + 1);
		assert_true(next > low);
		/* one value wide, or at most 1/32 of the least value in it */
		assert_true(next - low == 1 || (next - low) * 32 <= low);
	}
}

static void the_ends_of_the_histogram(void **state)
{
	(void)state;
	assert_int_equal(fsc_hist_bucket(0), 0);
	assert_int_equal(fsc_hist_bucket((1ull << FSC_HIST_TOP) - 1), FSC_HIST_OVER - 1);
	assert_int_equal(fsc_hist_bucket(1ull << FSC_HIST_TOP), FSC_HIST_OVER);
	assert_int_equal(fsc_hist_bucket(UINT64_MAX), FSC_HIST_OVER);
	assert_true(fsc_hist_low(FSC_HIST_OVER) == 1ull << FSC_HIST_TOP);
}

static void check_bucket(uint64_t v)
{
	uint32_t b = fsc_hist_bucket(v);

	if (b > FSC_HIST_OVER || fsc_hist_low(b) > v ||
	    (b < FSC_HIST_OVER && fsc_hist_low(b + 1) <= v))
		fail_msg("%llu is not in bucket %u", (unsigned long long)v, b);
	if (v)
		assert_int_equal(fsc_hist_log2(v), 63 - __builtin_clzll(v));
}

static void powers_of_two_and_their_neighbours(void **state)
{
	(void)state;
	for (int i = 0; i < 64; i++)
		for (int d = -1; d <= 1; d++)
			check_bucket((1ull << i) + (uint64_t)d);
}

static uint64_t seed = 42;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static void longer_is_never_in_an_earlier_bucket(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t a = dice() >> (dice() % 64), b = dice() >> (dice() % 64);

		check_bucket(a);
		assert_true((a < b) <= (fsc_hist_bucket(a) <= fsc_hist_bucket(b)));
	}
}

/* ---- shapes of durations ---- */

static uint64_t constant(size_t i)
{
	(void)i;
	return 1024;
}

static uint64_t short_ones(size_t i)
{
	(void)i;
	return dice() % 100;
}

static uint64_t spread(size_t i)
{
	(void)i;
	return 1000 + dice() % 1000000;
}

static uint64_t of_all_lengths(size_t i)
{
	(void)i;
	return dice() >> (26 + dice() % 38);
}

/* Nine of ten always the same at a bucket's low end, one much longer: nothing bounds the quantile
 * but the bucket. */
static uint64_t low_in_the_bucket(size_t i)
{
	return i % 10 ? 4096 : 90000000;
}

static uint64_t high_in_the_bucket(size_t i)
{
	return i % 10 == 9 ? 7 : i % 10 == 8 ? 90000000 : fsc_hist_low(400) - 1;
}

static uint64_t (*const shapes[])(size_t) = {constant,	     short_ones,	spread,
					     of_all_lengths, low_in_the_bucket, high_in_the_bucket};
static const size_t sizes[] = {1, 2, 3, 10, 100, 999, 20000};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t *make_values(size_t shape, size_t n)
{
	uint64_t *v = calloc(n, sizeof(*v));

	assert_non_null(v);
	for (size_t i = 0; i < n; i++)
		v[i] = shapes[shape](i);
	qsort(v, n, sizeof(*v), by_value);
	return v;
}

/* fn for every shape and number of values, in order. */
static void each_shape(void (*fn)(const uint64_t *v, size_t n, const struct fsc_slot *s))
{
	for (size_t shape = 0; shape < N(shapes); shape++)
		for (size_t i = 0; i < N(sizes); i++) {
			uint64_t *v = make_values(shape, sizes[i]);
			struct fsc_slot *s = slot_of(v, sizes[i]);

			fn(v, sizes[i], s);
			free(v);
			free(s);
		}
}

/* ---- quantiles ---- */

static void check_quantiles(const uint64_t *v, size_t n, const struct fsc_slot *s)
{
	static const double qs[] = {0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1};

	for (size_t i = 0; i < N(qs); i++) {
		double rank = ceil(qs[i] * (double)n), got = fsc_slot_quantile(s, qs[i]);
		double exact = (double)v[rank < 1 ? 0 : (size_t)rank - 1];

		if (fabs(got - exact) > exact / 64)
			fail_msg("quantile %g of %zu values is %.1f, not %.1f", qs[i], n, got,
				 exact);
		assert_true(got >= (double)v[0] && got <= (double)v[n - 1]);
	}
}

static void quantiles_within_the_bound(void **state)
{
	(void)state;
	each_shape(check_quantiles);
}

static void quantiles_of_nothing_and_of_the_longest(void **state)
{
	const uint64_t v[] = {1, 1ull << 40, 1ull << 41};
	struct fsc_slot *s = slot_of(NULL, 0);

	(void)state;
	assert_true(fsc_slot_quantile(s, 0.5) == 0);
	assert_true(fsc_slot_average(s) == 0);
	assert_true(fsc_slot_stddev(s) == 0);
	assert_int_equal(fsc_slot_min(s), 0);
	free(s);
	s = slot_of(v, N(v));
	assert_true(fsc_slot_quantile(s, 0.3) == 1);
	assert_true(fsc_slot_quantile(s, 0.5) == (double)v[2]); /* beyond the last bucket: max */
	free(s);
}

/* ---- averages and deviations ---- */

static void check_deviation(const uint64_t *v, size_t n, const struct fsc_slot *s)
{
	long double mean = 0, squares = 0, exact;

	for (size_t i = 0; i < n; i++)
		mean += (long double)v[i] / (long double)n;
	for (size_t i = 0; i < n; i++)
		squares += ((long double)v[i] - mean) * ((long double)v[i] - mean);
	exact = n > 1 ? sqrtl(squares / (long double)(n - 1)) : 0;
	assert_true(fabsl((long double)fsc_slot_average(s) - mean) <= mean * 1e-12L);
	if (fabsl((long double)fsc_slot_stddev(s) - exact) > exact * 1e-6L + mean * 1e-9L)
		fail_msg("deviation of %zu values is %f, not %Lf", n, fsc_slot_stddev(s), exact);
	assert_int_equal(fsc_slot_min(s), v[0]);
	assert_int_equal(s->max, v[n - 1]);
}

static void deviations(void **state)
{
	(void)state;
	each_shape(check_deviation);
}

/* Seconds: one square alone does not fit into 64 bits. */
static void deviations_of_long_calls(void **state)
{
	const uint64_t two[] = {5000000000u, 5000001000u};
	const uint64_t minutes[] = {60000000000u, 90000000000u, 120000000000u, 240000000000u};
	struct fsc_slot *s;

	(void)state;
	s = slot_of(two, N(two));
	assert_true(s->square_high);
	assert_true(fabs(fsc_slot_stddev(s) - 707.10678) < 0.01);
	free(s);
	s = slot_of(minutes, N(minutes));
	check_deviation(minutes, N(minutes), s);
	free(s);
}

static void shorter_than_the_probes(void **state)
{
	const uint64_t v[] = {100, 200};
	struct fsc_slot *s = slot_of(v, N(v));
	struct fsc_latency l = {.slot = s, .floor_ns = 151};

	(void)state;
	assert_true(fsc_latency_at_floor(&l));
	l.floor_ns = 150;
	assert_false(fsc_latency_at_floor(&l));
	*s = (struct fsc_slot){0};
	assert_false(fsc_latency_at_floor(&l)); /* no calls at all */
	free(s);
}

static void mostly_probes(void **state)
{
	struct fsc_slot s = {.count = 2, .total = 200, .raw_total = 401};
	struct fsc_latency l = {.slot = &s, .floor_ns = 10};

	(void)state;
	assert_true(fsc_latency_mostly_probes(&l));
	s.raw_total = 400;
	assert_false(fsc_latency_mostly_probes(&l));
	s.raw_total = 100; /* the cost was overestimated */
	assert_false(fsc_latency_mostly_probes(&l));
	s.raw_total = 401;
	l.floor_ns = 0;
	assert_false(fsc_latency_mostly_probes(&l)); /* nothing was taken out */
}

/* ---- bins ---- */

static uint64_t sum_bins(const struct fsc_vec *bins)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bins->n; i++)
		sum += FSC_AT(struct fsc_bin, bins, i)->n;
	return sum;
}

/* How many of the values lie in a bin. */
static uint64_t inside(const uint64_t *v, size_t n, const struct fsc_bin *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)v[i] >= b->low && (double)v[i] < b->high;
	return sum;
}

static void check_log2(const uint64_t *v, size_t n, const struct fsc_slot *s)
{
	struct fsc_vec bins = FSC_VEC_INIT(struct fsc_bin);

	assert_int_equal(
	    fsc_latency_bins_log2(&(struct fsc_latency){.slot = (struct fsc_slot *)s}, &bins, NULL),
	    0);
	assert_int_equal(sum_bins(&bins), n);
	for (size_t i = 0; i < bins.n; i++) {
		const struct fsc_bin *b = FSC_AT(struct fsc_bin, &bins, i);

		assert_int_equal(b->n, inside(v, n, b));
		assert_true(b->low == 0 ? b->high == 1 : b->high == 2 * b->low);
		assert_true(!i || b->low == b[-1].high);
	}
	assert_true(FSC_AT(struct fsc_bin, &bins, 0)->n);
	assert_true(FSC_AT(struct fsc_bin, &bins, bins.n - 1)->n);
	fsc_vec_release(&bins);
}

static void doubling_bins(void **state)
{
	(void)state;
	each_shape(check_log2);
}

static void doubling_bins_of_nothing_and_of_the_longest(void **state)
{
	struct fsc_vec bins = FSC_VEC_INIT(struct fsc_bin);
	const uint64_t v[] = {UINT64_MAX >> 1};
	struct fsc_slot *s = slot_of(NULL, 0);

	(void)state;
	assert_int_equal(
	    fsc_latency_bins_log2(&(struct fsc_latency){.slot = (struct fsc_slot *)s}, &bins, NULL),
	    0);
	assert_int_equal(bins.n, 0);
	free(s);
	s = slot_of(v, N(v));
	assert_int_equal(
	    fsc_latency_bins_log2(&(struct fsc_latency){.slot = (struct fsc_slot *)s}, &bins, NULL),
	    0);
	assert_int_equal(bins.n, 1);
	assert_true(isinf(FSC_AT(struct fsc_bin, &bins, 0)->high));
	assert_int_equal(FSC_AT(struct fsc_bin, &bins, 0)->n, 1);
	fsc_vec_release(&bins);
	free(s);
}

static void check_linear(const uint64_t *v, size_t n, const struct fsc_slot *s)
{
	static const double ranges[][3] = {
	    {0, 100, 10}, {10, 90, 7}, {0, 1e6, 5e4}, {1e5, 1e6, 3e4}, {500, 600, 1000}};

	(void)v;
	for (size_t i = 0; i < N(ranges); i++) {
		double min = ranges[i][0], max = ranges[i][1], step = ranges[i][2];
		struct fsc_vec bins = FSC_VEC_INIT(struct fsc_bin);
		size_t inner = (size_t)ceil((max - min) / step);

		assert_int_equal(
		    fsc_latency_bins_linear(&(struct fsc_latency){.slot = (struct fsc_slot *)s},
					    min, max, step, &bins, NULL),
		    0);
		assert_int_equal(bins.n, inner + 1 + (min > 0));
		assert_int_equal(sum_bins(&bins), n);
		assert_true(FSC_AT(struct fsc_bin, &bins, 0)->low == 0);
		assert_true(isinf(FSC_AT(struct fsc_bin, &bins, bins.n - 1)->high));
		for (size_t k = 1; k < bins.n; k++)
			assert_true(FSC_AT(struct fsc_bin, &bins, k)->low ==
				    FSC_AT(struct fsc_bin, &bins, k - 1)->high);
		fsc_vec_release(&bins);
	}
}

static void equal_bins(void **state)
{
	(void)state;
	each_shape(check_linear);
}

/* Below 32 ns every value has a bucket of its own, so each must lie in its very bin. */
static void equal_bins_hold_what_they_say(void **state)
{
	const uint64_t v[] = {0, 4, 5, 9, 10, 14, 15, 30, 31};
	struct fsc_vec bins = FSC_VEC_INIT(struct fsc_bin);
	struct fsc_slot *s = slot_of(v, N(v));

	(void)state;
	assert_int_equal(
	    fsc_latency_bins_linear(&(struct fsc_latency){.slot = (struct fsc_slot *)s}, 5, 15, 5,
				    &bins, NULL),
	    0);
	assert_int_equal(bins.n, 4);
	for (size_t i = 0; i < bins.n; i++)
		assert_int_equal(FSC_AT(struct fsc_bin, &bins, i)->n,
				 inside(v, N(v), FSC_AT(struct fsc_bin, &bins, i)));
	fsc_vec_release(&bins);
	free(s);
}

/* Of ticks: the deviation is the histogram's, within what the least and the greatest allow. */
static void ticks_in_nanoseconds(void **state)
{
	struct fsc_slot *s = calloc(1, sizeof(*s));
	struct fsc_latency l = {.slot = s, .ticks = {.ns = 0.5, .floor = 20, .mean = 24}};

	(void)state;
	assert_non_null(s);
	for (int i = 0; i < 100; i++)
		keep(s, i % 2 ? 2130000 : 2140000);
	assert_true(fabs(fsc_latency_ns(&l, 2130000) - 1064990) < 1);
	assert_true(fabs(fsc_latency_average(&l) - 1067488) < 1);
	assert_true(fsc_latency_stddev(&l) > 1000 && fsc_latency_stddev(&l) <= 2600);
	assert_true(fsc_latency_ns(&l, 5) == 0);
	memset(s, 0, sizeof(*s));
	keep(s, 40);
	/* One call: its average is neither below the least nor above the greatest. */
	assert_true(fsc_latency_average(&l) == fsc_latency_ns(&l, 40));
	assert_true(fsc_latency_stddev(&l) == 0);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ticks_in_nanoseconds),
	    cmocka_unit_test(every_bucket_begins_where_it_says),
	    cmocka_unit_test(the_ends_of_the_histogram),
	    cmocka_unit_test(powers_of_two_and_their_neighbours),
	    cmocka_unit_test(longer_is_never_in_an_earlier_bucket),
	    cmocka_unit_test(quantiles_within_the_bound),
	    cmocka_unit_test(quantiles_of_nothing_and_of_the_longest),
	    cmocka_unit_test(deviations),
	    cmocka_unit_test(deviations_of_long_calls),
	    cmocka_unit_test(shorter_than_the_probes),
	    cmocka_unit_test(mostly_probes),
	    cmocka_unit_test(doubling_bins),
	    cmocka_unit_test(doubling_bins_of_nothing_and_of_the_longest),
	    cmocka_unit_test(equal_bins),
	    cmocka_unit_test(equal_bins_hold_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
