/* src/model/blocks.h and units.h: quantiles interpolated inside a bucket, blocks added up, and the
 * merging that makes units of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "blocks.h"
#include "model/stats.h"
#include "model/units.h"

#define N(array)	  (sizeof(array) / sizeof((array)[0]))
#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static struct fsc_block block_of(const uint64_t *v, size_t n)
{
	FSC_AUTO(fsc_freep) struct fsc_slot *s = slot_of(v, n);
	struct fsc_block b = FSC_BLOCK_INIT;

	block_of_slot(s, &b);
	return b;
}

/* ---- quantiles ---- */

static void interpolates_inside_a_bin(void **state)
{
	/* 100 calls of [64,66), 100 of [128,132); spread evenly, and the sum says so */
	struct fsc_block b = {.count = 200,
			      .total_ns = 100 * 65 + 100 * 130,
			      .min_ns = 64,
			      .max_ns = 132,
			      .bins = FSC_VEC_INIT(struct fsc_bin)};

	(void)state;
	assert_non_null(fsc_block_bin(&b, 64, 66, 100));
	assert_non_null(fsc_block_bin(&b, 128, 132, 100));
	assert_near(fsc_block_quantile(&b, 0.25), 65);
	assert_near(fsc_block_quantile(&b, 0.5), 66);
	assert_near(fsc_block_quantile(&b, 0.75), 130);
	assert_near(fsc_block_quantile(&b, 1), 132);
	assert_near(fsc_block_quantile(&b, 0), 64);
	assert_near(fsc_block_mean(&b), 97.5);
	fsc_block_release(&b);
}

static void bounded_by_least_and_greatest(void **state)
{
	const uint64_t same[] = {1000, 1000, 1000}, two[] = {1000, 1001};
	struct fsc_block b = block_of(same, 3);

	(void)state;
	assert_near(fsc_block_quantile(&b, 0.5), 1000);
	assert_near(fsc_block_quantile(&b, 0.99), 1000);
	fsc_block_release(&b);
	b = block_of(two, 2);
	assert_true(fsc_block_quantile(&b, 0.01) >= 1000);
	assert_true(fsc_block_quantile(&b, 0.99) <= 1001);
	fsc_block_release(&b);
	b = (struct fsc_block)FSC_BLOCK_INIT;
	assert_true(isnan(fsc_block_quantile(&b, 0.5)) && isnan(fsc_block_mean(&b)));
}

/* A steady function with a tail: its median moves by so much, wherever in a bucket it lies. */
static double measured_change(double centre, double sigma, double change)
{
	double v[2];

	for (int side = 0; side < 2; side++) {
		struct fsc_block b = FSC_BLOCK_INIT;
		struct fsc_slot s = {0};

		for (int i = 0; i < 4000; i++) {
			double ns = centre * (side ? 1 + change : 1) * (1 + sigma * normal());

			keep(&s, (uint64_t)(uniform() < 0.02 ? ns * (1 + 5 * uniform()) : ns));
		}
		block_of_slot(&s, &b);
		v[side] = fsc_block_quantile(&b, 0.5);
		fsc_block_release(&b);
	}
	return v[1] / v[0] - 1;
}

static void changes_smaller_than_a_bucket_show(void **state)
{
	static const double sigmas[] = {0.001, 0.003, 0.01, 0.03};

	(void)state;
	for (size_t s = 0; s < N(sigmas); s++)
		for (int i = 0; i < 24; i++) {
			double centre = 100000 * exp2(i / 24.0 / 32), one, three;

			one = measured_change(centre, sigmas[s], 0.01);
			three = measured_change(centre, sigmas[s], 0.03);
			if (fabs(one - 0.01) > 0.007 || fabs(three - 0.03) > 0.007)
				fail_msg("%.0f ns, sigma %g: 1%% is %.2f%%, 3%% is %.2f%%", centre,
					 sigmas[s], 100 * one, 100 * three);
		}
}

static void adding_up_is_as_if_measured_together(void **state)
{
	uint64_t v[300];
	struct fsc_block all, a, b;

	(void)state;
	for (size_t i = 0; i < N(v); i++)
		v[i] = (uint64_t)(1000 * exp(normal()));
	all = block_of(v, 300);
	a = block_of(v, 100);
	b = block_of(v + 100, 200);
	assert_int_equal(fsc_block_add(&a, &b, NULL), 0);
	assert_int_equal(a.bins.n, all.bins.n);
	assert_memory_equal(a.bins.data, all.bins.data, a.bins.n * sizeof(struct fsc_bin));
	assert_near(a.total_ns, all.total_ns);
	assert_near(a.min_ns, all.min_ns);
	assert_near(a.max_ns, all.max_ns);
	assert_near(a.count, 300);
	fsc_block_release(&a);
	fsc_block_release(&b);
	fsc_block_release(&all);
}

/* ---- recordings ---- */

static void rows_of_one_time_are_one_block(void **state)
{
	struct fsc_recording r = FSC_RECORDING_INIT;
	const struct fsc_recorded *f;

	(void)state;
	for (uint64_t t = 1; t <= 3; t++)
		for (int thread = 0; thread < 4; thread++)
			give_block(&r, "uprobe", t < 3 ? "/old/prog" : "prog", "f",
				   skewed_block(10, 1000, 0.1, t));
	give_block(&r, "kprobe", "prog", "f", skewed_block(10, 1000, 0.1, 1));
	assert_int_equal(r.functions.n, 2);
	assert_int_equal(fsc_recording_find(&r, "uprobe", "/x/prog", "f", &f, NULL), 0);
	assert_non_null(f);
	assert_string_equal(f->binary, "prog");
	assert_int_equal(f->blocks.n, 3);
	assert_near(FSC_AT(struct fsc_block, &f->blocks, 1)->count, 40);
	assert_int_equal(fsc_recording_find(&r, "uprobe", "prog", "g", &f, NULL), 0);
	assert_null(f);
	fsc_recording_release(&r);
}

/* ---- units ---- */

/* Blocks whose level follows AR(1). */
static void autoregress(struct fsc_recording *r, size_t blocks, size_t calls, double phi,
			double sigma)
{
	double level = normal();

	for (size_t i = 0; i < blocks; i++) {
		level = phi * level + sqrt(1 - phi * phi) * normal();
		give_block(r, "uprobe", "p", "f",
			   skewed_block(calls, 10000 * exp(sigma * level), 0.1, i + 1));
	}
}

static struct fsc_units units_of(size_t blocks, size_t calls, double phi, enum fsc_statistic stat)
{
	struct fsc_recording a = FSC_RECORDING_INIT, b = FSC_RECORDING_INIT;
	const struct fsc_recorded *x, *y;
	struct fsc_units u;

	autoregress(&a, blocks, calls, phi, 0.1);
	autoregress(&b, blocks, calls, phi, 0.1);
	x = FSC_AT(struct fsc_recorded, &a.functions, 0);
	y = FSC_AT(struct fsc_recorded, &b.functions, 0);
	assert_int_equal(fsc_units_make(FSC_REPLICATE_BLOCK, stat, (struct fsc_units_side){&x, 1},
					(struct fsc_units_side){&y, 1}, &u, NULL),
			 0);
	fsc_recording_release(&a);
	fsc_recording_release(&b);
	return u;
}

static void independent_blocks_stay(void **state)
{
	struct fsc_units u = units_of(30, 50, 0, FSC_STAT_P50);

	(void)state;
	assert_null(u.why);
	assert_int_equal(u.n_before, 30);
	assert_int_equal(u.n_after, 30);
	fsc_units_release(&u);
}

static void blocks_that_are_alike_are_merged(void **state)
{
	struct fsc_units u = units_of(256, 50, 0.9, FSC_STAT_MEAN);

	(void)state;
	assert_null(u.why);
	assert_true(u.n_before < 32 && u.n_before >= FSC_UNITS_KEPT_BLOCKS);
	assert_true(u.n_before / 2 < FSC_UNITS_KEPT_BLOCKS ||
		    (!fsc_stats_lag1_positive(u.before, u.n_before) &&
		     !fsc_stats_lag1_positive(u.after, u.n_after)));
	fsc_units_release(&u);
}

static void more_than_32_blocks_are_merged(void **state)
{
	struct fsc_units u = units_of(500, 20, 0, FSC_STAT_P50);

	(void)state;
	assert_true(u.n_before <= FSC_UNITS_MOST_BLOCKS && u.n_before > 10);
	fsc_units_release(&u);
}

static void the_tail_needs_calls(void **state)
{
	struct fsc_units u = units_of(40, 250, 0, FSC_STAT_P99);

	(void)state;
	assert_null(u.why);
	assert_int_equal(u.n_before, 10); /* of 1000 calls each */
	fsc_units_release(&u);
	u = units_of(40, 100, 0, FSC_STAT_P99);
	assert_string_equal(u.why, "too few calls");
	fsc_units_release(&u);
	u = units_of(5, 2000, 0, FSC_STAT_P50);
	assert_string_equal(u.why, "too few blocks");
	fsc_units_release(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(interpolates_inside_a_bin),
	    cmocka_unit_test(bounded_by_least_and_greatest),
	    cmocka_unit_test(changes_smaller_than_a_bucket_show),
	    cmocka_unit_test(adding_up_is_as_if_measured_together),
	    cmocka_unit_test(rows_of_one_time_are_one_block),
	    cmocka_unit_test(independent_blocks_stay),
	    cmocka_unit_test(blocks_that_are_alike_are_merged),
	    cmocka_unit_test(more_than_32_blocks_are_merged),
	    cmocka_unit_test(the_tail_needs_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
