/* Estimates of calls (model/sampling.c) against simulated programs whose truth is known: an
 * interval that is given holds at least 19 times in 20, whatever the load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "model/sampling.h"

enum { SEEDS = 300, STEPS_PER_S = 1000 }; /* a step is 1 ms of the target's own CPU time */

/* ---- random numbers ---- */

static uint64_t state;

static double uniform(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / 9007199254740992.0;
}

static double exponential(double mean)
{
	return -mean * log(1 - uniform());
}

static double normal(void)
{
	return sqrt(exponential(2)) * cos(6.283185307 * uniform());
}

static double poisson(double mean)
{
	double limit = exp(-mean), product = uniform(), n = 0;

	if (mean > 50)
		return fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
	while (product > limit) {
		product *= uniform();
		n++;
	}
	return n;
}

/* ---- loads: calls per step ---- */

enum { MOST_STEPS = 60 * STEPS_PER_S };

static double calls[MOST_STEPS];

static void steady(size_t n, double rate)
{
	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(rate);
}

static void regular(size_t n, double rate)
{
	for (size_t i = 0; i < n; i++)
		calls[i] = floor(rate * (double)(i + 1)) - floor(rate * (double)i);
}

static void growing(size_t n, double rate)
{
	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(2 * rate * (double)i / (double)n);
}

static void shrinking(size_t n, double rate)
{
	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(2 * rate * (1 - (double)i / (double)n));
}

static void two_phases(size_t n, double rate)
{
	double at = uniform(), then = 3 * uniform();

	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(rate * ((double)i < at * (double)n ? 1 : then));
}

static void waves(size_t n, double rate)
{
	double period = STEPS_PER_S * exp(uniform() * 5 - 2), phase = 6.28 * uniform();

	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(rate * (1 + sin(6.283185307 * (double)i / period + phase)));
}

/* Of random lengths: the mean is 20 ms to 2 s, the function is called in a tenth to nine tenths. */
static void bursts(size_t n, double rate)
{
	double length = STEPS_PER_S * exp(uniform() * 4.6 - 3.9), share = 0.1 + 0.8 * uniform();
	double left = 0;
	int on = 0;

	for (size_t i = 0; i < n; i++) {
		if (left <= 0) {
			on = !on;
			left = exponential(length * (on ? share : 1 - share));
		}
		left--;
		calls[i] = on ? poisson(rate / share) : 0;
	}
}

/* Requests of very different size. */
static void requests(size_t n, double rate)
{
	for (size_t i = 0; i < n; i++)
		calls[i] = poisson(rate * exp(1.5 * normal() - 1.125));
}

static void drifting(size_t n, double rate)
{
	double at = 0;

	for (size_t i = 0; i < n; i++) {
		at += 0.02 * normal();
		at *= 0.9995;
		calls[i] = poisson(rate * exp(at));
	}
}

/* ---- a run under a budget ---- */

struct outcome {
	unsigned given, right;
};

static void run_once(void (*load)(size_t n, double rate), struct outcome *out)
{
	size_t n = (size_t)(STEPS_PER_S * (5 + 55 * uniform())), i, demoted;
	double rate = exp(uniform() * 7 - 1.5);	      /* per ms: 220 to 245,000 a second */
	double believed = 1e3 * exp(uniform() * 2.7); /* ns a hit: 1 to 15 us */
	double cost = believed * (0.75 + 0.85 * uniform());
	double gap = 50 + 400 * uniform(), length = 5 + 10 * uniform();
	double truth = 0, unwatched = 0, low, high, hits = 0;
	struct fsc_sampling s = {0};

	load(n, rate);
	demoted = 10 + (size_t)(100 * uniform());
	for (i = 0; i < demoted; i++)
		hits += calls[i];
	fsc_sampling_know(&s, hits, (double)demoted * 1e6);
	while (i < n) {
		size_t next = i + 1 + (size_t)(gap * (0.5 + uniform()));
		double end = 1e6 * length * (0.9 + 0.2 * uniform()), cpu = 0;

		for (; i < next && i < n; i++, unwatched += 1e6)
			truth += calls[i];
		for (hits = 0; cpu < end && i < n; i++) {
			hits += calls[i];
			cpu += 1e6 + calls[i] * cost;
		}
		fsc_sampling_add(&s, hits, cpu, hits * believed);
	}
	if (!fsc_sampling_estimate(&s, unwatched, &low, &high))
		return;
	out->given++;
	out->right += low <= truth && truth <= high;
}

static void check_load(const char *name, void (*load)(size_t n, double rate))
{
	struct outcome out = {0};

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		state = seed * 0x9e3779b97f4a7c15u;
		uniform();
		run_once(load, &out);
	}
	print_message("%-10s %4u of %d are estimated, %.1f %% of these hold\n", name, out.given,
		      SEEDS, out.given ? 100.0 * out.right / out.given : 0);
	assert_true(out.right >= 0.95 * out.given);
	assert_true(out.given >= SEEDS / 20);
}

/* ---- tests ---- */

static void intervals_hold(void **unused)
{
	static const struct {
		const char *name;
		void (*load)(size_t n, double rate);
	} loads[] = {{"steady", steady},       {"regular", regular},	   {"growing", growing},
		     {"shrinking", shrinking}, {"two phases", two_phases}, {"waves", waves},
		     {"bursts", bursts},       {"requests", requests},	   {"drifting", drifting}};

	(void)unused;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		check_load(loads[i].name, loads[i].load);
}

/* Probes that take nearly all of the windows leave nothing to go by. */
static void nothing_is_said_where_nothing_is_known(void **unused)
{
	struct fsc_sampling s = {0};
	double low, high;

	(void)unused;
	assert_false(fsc_sampling_estimate(&s, 1e9, &low, &high));
	for (int i = 0; i < 7; i++)
		fsc_sampling_add(&s, 1000, 10e6, 1e6);
	assert_false(fsc_sampling_estimate(&s, 1e9, &low, &high)); /* too few */
	fsc_sampling_add(&s, 1000, 10e6, 1e6);
	assert_true(fsc_sampling_estimate(&s, 1e9, &low, &high));
	assert_true(low < 111111 && 111111 < high);
	for (int i = 0; i < 100; i++)
		fsc_sampling_add(&s, 10000, 10e6, 9.5e6);
	assert_false(fsc_sampling_estimate(&s, 1e9, &low, &high));
}

/* What was seen before the first window may come again. */
static void what_was_seen_once_counts(void **unused)
{
	struct fsc_sampling calm = {0}, wild = {0};
	double low, high, high_wild;

	(void)unused;
	fsc_sampling_know(&wild, 400, 10e6);
	for (int i = 0; i < 30; i++) {
		fsc_sampling_add(&calm, 100, 10e6, 1e5);
		fsc_sampling_add(&wild, 100, 10e6, 1e5);
	}
	assert_true(fsc_sampling_estimate(&calm, 1e9, &low, &high));
	assert_true(fsc_sampling_estimate(&wild, 1e9, &low, &high_wild));
	assert_true(high_wild > 1.2 * high);
	fsc_sampling_know(&wild, 100000, 10e6);
	assert_false(fsc_sampling_estimate(&wild, 1e9, &low, &high));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(intervals_hold),
	    cmocka_unit_test(nothing_is_said_where_nothing_is_known),
	    cmocka_unit_test(what_was_seen_once_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
