/* src/sink/spread.h: which bucket a duration is in, at the edges above all, and that the two kinds
 * of buckets agree with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "sink/spread.h"
#include "slots.h"

static void bounds(void **state)
{
	(void)state;
	assert_true(fsc_spread_bound(0) == 1e-6);
	assert_true(fsc_spread_bound(1) == 4e-6);
	assert_true(fsc_spread_bound(4) == 0.000256);
	assert_true(fsc_spread_bound(12) == 16.777216);
	assert_true(isinf(fsc_spread_bound(13)));
}

/* Index i covers (base^(i-1), base^i]. */
static void indices(void **state)
{
	(void)state;
	assert_int_equal(fsc_spread_index(1), 0);
	assert_int_equal(fsc_spread_index(nextafter(1, 2)), 1);
	assert_int_equal(fsc_spread_index(nextafter(1, 0)), 0);
	assert_int_equal(fsc_spread_index(0.5), -8);
	assert_int_equal(fsc_spread_index(2), 8);
	assert_int_equal(fsc_spread_index(1024), 80);
	assert_int_equal(fsc_spread_index(1e-9), -239);
	assert_int_equal(fsc_spread_index(1e-300), FSC_SPREAD_LOW);
	assert_int_equal(fsc_spread_index(1e300), FSC_SPREAD_HIGH);
	for (int i = -200; i < 200; i++) {
		double middle = exp2((i - 0.5) / 8);

		assert_int_equal(fsc_spread_index(middle), i);
	}
}

static struct fsc_spread spread_of(const uint64_t *ns, size_t n)
{
	struct fsc_latency l = {.slot = slot_of(ns, n)};
	struct fsc_spread d;

	fsc_spread_init(&d);
	fsc_spread_add(&d, &l);
	free(l.slot);
	return d;
}

static void agree(const struct fsc_spread *d)
{
	uint64_t classic = 0, native = d->zero;

	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++)
		classic += d->classic[i];
	for (unsigned i = 0; i < FSC_SPREAD_NATIVE; i++)
		native += d->native[i];
	assert_true(classic == d->count);
	assert_true(native == d->count);
	if (d->first <= d->last) {
		assert_true(d->native[d->first - FSC_SPREAD_LOW] > 0);
		assert_true(d->native[d->last - FSC_SPREAD_LOW] > 0);
	}
}

/* The bounds are in the middle of their rows' buckets: what is off by more than those are wide is
 * on the right side. */
static void bounds_are_where_they_are(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FSC_SPREAD_BOUNDS; i++) {
		uint64_t edge = 1000ull << (2 * i), below = edge - edge / 50,
			 above = edge + edge / 50;
		struct fsc_spread d = spread_of(&edge, 1);

		assert_true(fsc_spread_sum(&d) == (double)edge / 1e9);
		assert_true(d.min == fsc_spread_sum(&d) && d.max == d.min);
		assert_int_equal(d.classic[i], 1);
		agree(&d);
		d = spread_of(&below, 1);
		assert_int_equal(d.classic[i], 1);
		agree(&d);
		d = spread_of(&above, 1);
		assert_int_equal(d.classic[i + 1], 1);
		agree(&d);
	}
}

/* A call that is counted stays in its buckets, whatever the next one is. */
static void no_bucket_goes_back(void **state)
{
	uint64_t ns[400];
	struct fsc_spread before, now;

	(void)state;
	srand(1);
	fsc_spread_init(&before);
	for (size_t n = 0; n < 400; n++) {
		ns[n] = (uint64_t)rand() >> (rand() % 31);
		ns[n] <<= n % 40 == 39 ? 30 : 0;
		now = spread_of(ns, n + 1);
		for (unsigned i = 0; i < FSC_SPREAD_NATIVE; i++)
			assert_true(now.native[i] >= before.native[i]);
		for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++)
			assert_true(now.classic[i] >= before.classic[i]);
		assert_true(now.zero >= before.zero);
		assert_true(fsc_spread_sum(&now) >= fsc_spread_sum(&before));
		before = now;
	}
}

/* Rows come in any order, which no sum shows. */
static void no_order_changes_the_sum(void **state)
{
	uint64_t ns[50];
	struct fsc_spread there, back;

	(void)state;
	srand(2);
	fsc_spread_init(&there);
	fsc_spread_init(&back);
	for (size_t i = 0; i < 50; i++)
		ns[i] = (uint64_t)rand() << (i % 8);
	for (size_t i = 0; i < 50; i++) {
		struct fsc_latency a = {.slot = slot_of(&ns[i], 1)};
		struct fsc_latency b = {.slot = slot_of(&ns[49 - i], 1)};

		fsc_spread_add(&there, &a);
		fsc_spread_add(&back, &b);
		free(a.slot);
		free(b.slot);
	}
	assert_true(fsc_spread_sum(&there) == fsc_spread_sum(&back));
}

static void nothing_and_no_duration(void **state)
{
	static const uint64_t zeros[] = {0, 0, 0};
	struct fsc_spread d = spread_of(zeros, 0);

	(void)state;
	assert_true(!d.count && d.first > d.last && d.min == 0 && d.max == 0);
	agree(&d);
	d = spread_of(zeros, 3);
	assert_true(d.count == 3 && d.zero == 3 && d.classic[0] == 3 && d.first > d.last);
	agree(&d);
}

static void all_magnitudes(void **state)
{
	uint64_t ns[128];
	struct fsc_spread d;

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		ns[2 * i] = 1ull << i;
		ns[2 * i + 1] = (1ull << i) - 1;
	}
	d = spread_of(ns, 128);
	assert_true(d.count == 128);
	assert_true(d.min == 0 && d.max == (double)(1ull << 63) / 1e9);
	agree(&d);
}

/* Rows that count ticks join rows that count nanoseconds. */
static void rows_add_up(void **state)
{
	static const uint64_t ns[] = {1000, 2000}, ticks[] = {3000};
	struct fsc_latency a = {.slot = slot_of(ns, 2)};
	struct fsc_latency b = {.slot = slot_of(ticks, 1), .ticks = {.ns = 0.5}};
	struct fsc_spread d;

	(void)state;
	fsc_spread_init(&d);
	fsc_spread_add(&d, &a);
	fsc_spread_add(&d, &b);
	assert_int_equal(d.count, 3);
	assert_true(fabs(fsc_spread_sum(&d) - 4.5e-6) < 1e-15);
	assert_true(d.min == 1e-6 && d.max == 2e-6);
	agree(&d);
	free(a.slot);
	free(b.slot);
}

static void the_latest_call_is_pointed_at(void **state)
{
	const struct fsc_call call = {.has_duration = true, .duration_ns = 4000}, none = {0};
	const struct fsc_noted_call calls[] = {{.call = &call, .wall_ns = 5},
					       {.call = &call, .wall_ns = 9},
					       {.call = &call, .wall_ns = 7},
					       {.call = &none, .wall_ns = 11},
					       {.call = NULL, .wall_ns = 11}};
	struct fsc_spread d;

	(void)state;
	fsc_spread_init(&d);
	for (size_t i = 0; i < 5; i++)
		fsc_spread_note(&d, &calls[i]);
	for (unsigned i = 0; i <= FSC_SPREAD_BOUNDS; i++)
		assert_ptr_equal(d.noted[i], i == 1 ? &calls[1] : NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bounds),
	    cmocka_unit_test(indices),
	    cmocka_unit_test(bounds_are_where_they_are),
	    cmocka_unit_test(no_bucket_goes_back),
	    cmocka_unit_test(no_order_changes_the_sum),
	    cmocka_unit_test(nothing_and_no_duration),
	    cmocka_unit_test(all_magnitudes),
	    cmocka_unit_test(rows_add_up),
	    cmocka_unit_test(the_latest_call_is_pointed_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
