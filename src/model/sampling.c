/* The rate is the mean of the windows' rates: hits by the target's own CPU time. Not all hits by
 * all time, since in a window with many hits the probes leave the target less. The interval has
 * three parts: Student's, from how much windows differ; what hits really cost; and that with n
 * windows the function may have behaved in any other way it is known to, for 3/n of the time,
 * without a window falling there ("rule of three"). tests/unit/test_sampling.c has the simulations
 * by which this was chosen. */
#include "model/sampling.h"

#include <math.h>

/* Fewer windows say nothing, nor do wider intervals. */
enum { LEAST_WINDOWS = 8, LEAST_HITS = 30 };
#define WIDEST 4.0 /* high / low */
/* What a hit really costs, by what was measured: that was in a loop, with everything in the caches.
 */
#define LEAST_COST 0.7
#define MOST_COST  1.7

static void note_rate(struct fsc_sampling *s, double rate)
{
	s->least = !s->known || rate < s->least ? rate : s->least;
	s->most = !s->known || rate > s->most ? rate : s->most;
	s->known = true;
}

void fsc_sampling_know(struct fsc_sampling *s, double hits, double own_ns)
{
	if (own_ns > 0)
		note_rate(s, hits / own_ns);
}

void fsc_sampling_add(struct fsc_sampling *s, double hits, double cpu_ns, double cost_ns)
{
	double own = cpu_ns - cost_ns, least = cpu_ns - MOST_COST * cost_ns, rate;

	if (cpu_ns <= 0)
		return; /* the target did not run */
	s->n++;
	s->hits += hits;
	if (least < cpu_ns / 5) {
		s->blind = true;
		return;
	}
	rate = hits / own;
	note_rate(s, rate);
	s->rates += rate;
	s->squares += rate * rate;
	s->lowest += hits / (cpu_ns - LEAST_COST * cost_ns);
	s->highest += hits / least;
}

/* Student's t for 97.5 %, by degrees of freedom (at least 7): within 0.5 %. */
static double student(unsigned df)
{
	return 1.96 + 2.6 / df + 2.5 / ((double)df * df);
}

bool fsc_sampling_estimate(const struct fsc_sampling *s, double unwatched_ns, double *ret_low,
			   double *ret_high)
{
	double rate, spread, unseen, low, high;

	if (s->n < LEAST_WINDOWS || s->hits < LEAST_HITS || s->blind)
		return false;
	rate = s->rates / s->n;
	spread = (s->squares - s->n * rate * rate) / (s->n - 1);
	spread = spread > 0 ? student(s->n - 1) * sqrt(spread / s->n) : 0;
	unseen = 3.0 / s->n;
	low = s->lowest / s->n - spread - unseen * (rate - s->least);
	high = s->highest / s->n + spread + unseen * (s->most - rate);
	if (low <= 0 || high > WIDEST * low)
		return false;
	*ret_low = low * unwatched_ns;
	*ret_high = high * unwatched_ns;
	return true;
}
