#include "source/ticks.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/slurp.h"

#define FUNCSCOPE_DISABLE
#include "funcscope.h"

enum { READINGS = 2001, CALIBRATE_NS = 20000000 };

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void median_and_mean(uint64_t *v, double *median, double *mean)
{
	enum { KEPT = READINGS - READINGS / 100, MIDDLE = READINGS / 2 };
	double sum = 0;

	qsort(v, READINGS, sizeof(*v), compare_u64);
	for (size_t i = 0; i < KEPT; i++)
		sum += (double)v[i];
	*median = (double)v[MIDDLE];
	*mean = sum / KEPT;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Reads both clocks as nearly at the same moment as possible. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t before = funcscope_begin_ordered_();
		uint64_t raw = fsc_clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t after = funcscope_end_ordered_();

		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = before + (after - before) / 2;
		*ns = raw;
	}
}

static double measure_rate(void)
{
	const struct timespec wait = {.tv_nsec = CALIBRATE_NS};
	uint64_t ticks[2], ns[2];

	read_both(&ticks[0], &ns[0]);
	nanosleep(&wait, NULL);
	read_both(&ticks[1], &ns[1]);
	return ticks[1] > ticks[0] ? (double)(ns[1] - ns[0]) / (double)(ticks[1] - ticks[0]) : 1;
}

static void read_pair(bool ordered)
{
	uint64_t ticks = ordered ? funcscope_begin_ordered_() : funcscope_rdtsc();

	ticks = (ordered ? funcscope_end_ordered_() : funcscope_rdtsc()) - ticks;
	__asm__ volatile("" ::"r"(ticks));
}

/* The minimum of many rounds excludes other activity of the machine. */
static double measure_pair(bool ordered)
{
	enum { PAIRS = 500, ROUNDS = 20 };
	double best = INFINITY;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = fsc_clock_mono();
		double ns;

		for (int k = 0; k < PAIRS; k++)
			read_pair(ordered);
		ns = (double)(fsc_clock_mono() - start) / PAIRS;
		best = ns < best ? ns : best;
	}
	return best;
}

static void lower_grade(struct fsc_tick_clock *c, char grade, const char *why)
{
	if (grade <= c->grade)
		return;
	c->grade = grade;
	c->why = why;
}

/* The kernel checks the counter and stops using it as a clock if it is unreliable. */
static bool kernel_trusts_counter(void)
{
	char *text = NULL;
	size_t n;
	bool yes =
	    !fsc_slurp(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		       &text, &n, NULL) &&
	    (!strncmp(text, "tsc", 3) || !strncmp(text, "arch_sys_counter", 16));

	free(text);
	return yes;
}

void fsc_ticks_measure(struct fsc_tick_clock *c)
{
	static uint64_t freely[READINGS], in_order[READINGS];
	uint64_t step = 0;
	bool backwards = false;

	*c = (struct fsc_tick_clock){.name = "tsc", .grade = 'A'};
#ifdef __aarch64__
	c->name = "cntvct";
#endif
	for (size_t i = 0; i < READINGS; i++) {
		uint64_t start = funcscope_rdtsc();

		freely[i] = funcscope_rdtsc() - start;
		start = funcscope_begin_ordered_();
		in_order[i] = funcscope_end_ordered_() - start;
		step = gcd(step, in_order[i]);
		backwards |= freely[i] >> 63 || in_order[i] >> 63;
	}
	c->ns = measure_rate();
	c->pair_ns[0] = measure_pair(false);
	c->pair_ns[1] = measure_pair(true);
	c->step_ns = (double)(step ? step : 1) * c->ns;
	median_and_mean(freely, &c->floor[0], &c->mean[0]);
	median_and_mean(in_order, &c->floor[1], &c->mean[1]);
	if (c->step_ns > 5)
		lower_grade(c, 'B', "it moves in coarse steps");
	if (!kernel_trusts_counter())
		lower_grade(c, 'C', "the kernel does not use it as its clock");
	if (backwards)
		lower_grade(c, 'D', "it went backwards");
}

void fsc_ticks_check(struct fsc_tick_clock *c, uint64_t ticks, uint64_t raw_ns)
{
	uint64_t now_ticks, now_ns;
	double rate;

	read_both(&now_ticks, &now_ns);
	if (now_ticks <= ticks || now_ns <= raw_ns) {
		lower_grade(c, 'D', "the process started at a time in the future");
		return;
	}
	rate = (double)(now_ns - raw_ns) / (double)(now_ticks - ticks);
	if (now_ns - raw_ns > CALIBRATE_NS && fabs(rate / c->ns - 1) > 0.001)
		lower_grade(c, 'D', "its rate has changed since the process started");
}
