/* src/model/stats.h: estimates, intervals and p-values against what can be worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "blocks.h"
#include "model/stats.h"

#define N(array)	  (sizeof(array) / sizeof((array)[0]))
#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void medians(void **state)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

	(void)state;
	fsc_stats_sort(odd, 3);
	fsc_stats_sort(even, 4);
	assert_near(fsc_stats_median(odd, 3), 2);
	assert_near(fsc_stats_median(even, 4), 2.5);
	assert_true(isnan(fsc_stats_median(NULL, 0)));
}

static void autocorrelation(void **state)
{
	const double line[] = {1, 2, 3, 4}, saw[] = {1, -1, 1, -1, 1, -1}, flat[] = {7, 7, 7};
	double drift[64];

	(void)state;
	/* mean 2.5; products -1.5*-.5 + -.5*.5 + .5*1.5 = 1.25 of squares 5 */
	assert_near(fsc_stats_lag1(line, 4), 0.25);
	assert_near(fsc_stats_lag1(saw, 6), -5.0 / 6);
	assert_near(fsc_stats_lag1(flat, 3), 0);
	assert_near(fsc_stats_lag1(line, 2), 0);
	for (size_t i = 0; i < N(drift); i++)
		drift[i] = (double)i;
	assert_true(fsc_stats_lag1_positive(drift, N(drift)));
	assert_false(fsc_stats_lag1_positive(saw, 6));
}

/* All 16 differences of {0,1,2,3} and {10,11,12,14}. With 4 and 4, U = 0 has 1 way of 70 on either
 * side, p = 2/70; U <= 1 has 2 of 70. So at 5 % one difference may go on either side. */
static void hodges_lehmann(void **state)
{
	const double a[] = {0, 1, 2, 3}, b[] = {10, 11, 12, 14};
	struct fsc_shift s;
	double low, high;

	(void)state;
	assert_int_equal(fsc_shift_unpaired(a, 4, b, 4, false, &s, NULL), 0);
	assert_near(s.estimate, 10);
	assert_near(s.p, 2.0 / 70);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_near(low, 7);
	assert_near(high, 14);
	fsc_shift_interval(&s, 4.0 / 70 + 1e-9, &low, &high);
	assert_near(low, 8);
	assert_near(high, 13);
	fsc_shift_interval(&s, 0.01, &low, &high);
	assert_true(isinf(low) && low < 0 && isinf(high) && high > 0);
	fsc_shift_release(&s);
}

/* Three a side can never be sure: 2 of 20. */
static void too_few_for_an_interval(void **state)
{
	const double a[] = {1, 2, 3}, b[] = {100, 200, 300};
	struct fsc_shift s;
	double low, high;

	(void)state;
	assert_int_equal(fsc_shift_unpaired(a, 3, b, 3, false, &s, NULL), 0);
	assert_near(s.p, 0.1);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_true(isinf(low) && isinf(high));
	fsc_shift_release(&s);
	assert_int_equal(fsc_shift_least(false, 0.05), 4);
	assert_int_equal(fsc_shift_least(false, 2.0 / 70 - 1e-9), 5);
	assert_int_equal(fsc_shift_least(true, 0.05), 6);
	assert_int_equal(fsc_shift_least(true, 0.025), 7);
}

static void ties_are_no_difference(void **state)
{
	const double a[] = {5, 5, 5, 5, 5, 5};
	struct fsc_shift s;
	double low, high;

	(void)state;
	assert_int_equal(fsc_shift_unpaired(a, 6, a, 6, false, &s, NULL), 0);
	assert_near(s.p, 1);
	assert_near(s.estimate, 0);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_near(low, 0);
	assert_near(high, 0);
	fsc_shift_release(&s);
}

/* Six of six the same way: 2 / 64. Ten: one may go on either side, 2 * 11 / 1024 < 5 %. */
static void sign_test(void **state)
{
	const double a[10] = {0}, b[] = {3, 1, 2, 6, 5, 4, 10, 9, 8, 7};
	struct fsc_shift s;
	double low, high;

	(void)state;
	assert_int_equal(fsc_shift_paired(a, b, 6, &s, NULL), 0);
	assert_near(s.p, 2.0 / 64);
	assert_near(s.estimate, 3.5);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_near(low, 1);
	assert_near(high, 6);
	fsc_shift_release(&s);
	assert_int_equal(fsc_shift_paired(a, b, 10, &s, NULL), 0);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_near(low, 2);
	assert_near(high, 9);
	fsc_shift_release(&s);
	assert_int_equal(fsc_shift_paired(a, b, 5, &s, NULL), 0);
	fsc_shift_interval(&s, 0.05, &low, &high);
	assert_true(isinf(low));
	fsc_shift_release(&s);
}

/* 30 and 30 are past counting out: complete separation is U = 0, z = (0.5 - 450) / sqrt(900 * 61 /
 * 12) = -6.645, beyond which lies 3.0e-11 of the normal distribution, on both sides together. */
static void many_units(void **state)
{
	double a[30], b[30];
	struct fsc_shift s;

	(void)state;
	for (int i = 0; i < 30; i++) {
		a[i] = i;
		b[i] = 100 + i;
	}
	assert_int_equal(fsc_shift_unpaired(a, 30, b, 30, false, &s, NULL), 0);
	assert_true(s.p > 2.9e-11 && s.p < 3.2e-11);
	assert_near(s.estimate, 100);
	fsc_shift_release(&s);
	/* The same as neighbours in time: they drift, so that it is less certain. */
	assert_int_equal(fsc_shift_unpaired(a, 30, b, 30, true, &s, NULL), 0);
	assert_true(s.alike && s.freedom < 10);
	assert_true(s.p > 1e-4 && s.p < 1e-2);
	fsc_shift_release(&s);
}

/* A drift that shows through wild values: a line, and every seventh far off. */
static void wild_values_do_not_hide_a_drift(void **state)
{
	double v[56];

	(void)state;
	for (size_t i = 0; i < N(v); i++)
		v[i] = i % 7 == 3 ? 1e6 : (double)i;
	assert_true(fsc_stats_lag1_positive(v, N(v)));
}

/* Student's t: 10 alike units a side of which the ranks' interval is known, +-1 around the
 * estimate, would need t = 1.959964 at 18 degrees of freedom: p = 0.0657. */
static void certainty_of_units_in_time(void **state)
{
	const double a[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
	double b[10], low, high, again_low, again_high;
	struct fsc_shift s;

	(void)state;
	for (int i = 0; i < 10; i++)
		b[i] = a[i] + 1;
	assert_int_equal(fsc_shift_unpaired(a, 10, b, 10, false, &s, NULL), 0);
	fsc_shift_interval(&s, 0.05, &low, &high);
	fsc_shift_release(&s);
	assert_int_equal(fsc_shift_unpaired(a, 10, b, 10, true, &s, NULL), 0);
	assert_near(s.freedom, 18); /* they alternate: not alike */
	assert_near(s.error, (high - low) / 2 / 1.959964);
	assert_near(low, 0);
	assert_near(high, 2);
	assert_true(fabs(s.p - 0.0657) < 5e-4);
	fsc_shift_interval(&s, 0.05, &again_low, &again_high);
	assert_true(fabs(again_high - (1 + 2.1009 / 1.959964)) < 1e-3);
	fsc_shift_release(&s);
}

static void interval_and_p_agree(const struct fsc_shift *s)
{
	static const double alphas[] = {0.5, 0.1, 0.05, 0.01, 0.001, 1e-5};
	double low, high;

	for (size_t i = 0; i < N(alphas); i++) {
		fsc_shift_interval(s, alphas[i], &low, &high);
		assert_true(low <= s->estimate && s->estimate <= high);
		if ((s->p > alphas[i]) != (low <= 0 && high >= 0))
			fail_msg("p %g at %g, but [%g, %g]", s->p, alphas[i], low, high);
	}
}

static void the_interval_holds_zero_exactly_where_p_says_so(void **state)
{
	double a[40], b[40];
	struct fsc_shift s;

	(void)state;
	for (int k = 0; k < 600; k++) {
		size_t n = 1 + (size_t)(uniform() * 39), m = 1 + (size_t)(uniform() * 39);
		double shift = 3 * uniform();

		for (size_t i = 0; i < 40; i++) {
			a[i] = floor(4 * normal()); /* with ties */
			b[i] = floor(4 * normal() + shift);
		}
		assert_int_equal(fsc_shift_unpaired(a, n, b, m, k % 2, &s, NULL), 0);
		interval_and_p_agree(&s);
		fsc_shift_release(&s);
		assert_int_equal(fsc_shift_paired(a, b, n, &s, NULL), 0);
		interval_and_p_agree(&s);
		fsc_shift_release(&s);
	}
}

/* The textbook's four: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 is lifted to the one before. */
static void holm(void **state)
{
	const double p[] = {0.01, 0.04, 0.03, 0.005};
	double c[4], level[4];

	(void)state;
	assert_int_equal(fsc_stats_holm(p, 4, 0.05, c, level, NULL), 0);
	assert_near(c[3], 0.02);
	assert_near(c[0], 0.03);
	assert_near(c[2], 0.06);
	assert_near(c[1], 0.06);
	/* rejected at its own step, or not rejected at the step where it ended */
	assert_near(level[3], 0.05 / 4);
	assert_near(level[0], 0.05 / 3);
	assert_near(level[2], 0.05 / 2);
	assert_near(level[1], 0.05 / 2);
	assert_int_equal(fsc_stats_holm(NULL, 0, 0.05, NULL, NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(medians),
	    cmocka_unit_test(autocorrelation),
	    cmocka_unit_test(hodges_lehmann),
	    cmocka_unit_test(too_few_for_an_interval),
	    cmocka_unit_test(ties_are_no_difference),
	    cmocka_unit_test(sign_test),
	    cmocka_unit_test(many_units),
	    cmocka_unit_test(wild_values_do_not_hide_a_drift),
	    cmocka_unit_test(certainty_of_units_in_time),
	    cmocka_unit_test(the_interval_holds_zero_exactly_where_p_says_so),
	    cmocka_unit_test(holm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
