/* From log-linear buckets in nanoseconds to those of monitoring, in seconds. */
#include "sink/spread.h"

#include <math.h>
#include <string.h>

/* Whole numbers of ns, so that bounds are exact. */
static double bound_ns(unsigned i)
{
	return i < FSC_SPREAD_BOUNDS ? (double)(1000ull << (2 * i)) : INFINITY;
}

double fsc_spread_bound(unsigned i)
{
	return bound_ns(i) / 1e9;
}

static unsigned classic_index(double ns)
{
	unsigned i = 0;

	while (ns > bound_ns(i))
		i++;
	return i;
}

/* By comparison, not by logarithm: a power of two must not be rounded into the next bucket. */
int fsc_spread_index(double seconds)
{
	static const double bounds[] = {0.5,
					0.5452538663326288,
					0.5946035575013605,
					0.6484197773255048,
					0.7071067811865475,
					0.7711054127039704,
					0.8408964152537144,
					0.9170040432046711};
	int power, i = 0;
	double fraction = frexp(seconds, &power);

	while (i < 8 && fraction > bounds[i])
		i++;
	i += (power - 1) * 8;
	return i < FSC_SPREAD_LOW ? FSC_SPREAD_LOW : i > FSC_SPREAD_HIGH ? FSC_SPREAD_HIGH : i;
}

void fsc_spread_init(struct fsc_spread *d)
{
	memset(d, 0, sizeof(*d));
	d->first = FSC_SPREAD_HIGH + 1;
	d->last = FSC_SPREAD_LOW - 1;
}

static void add_bucket(struct fsc_spread *d, double ns, uint64_t n)
{
	int i;

	d->count += n;
	d->classic[classic_index(ns)] += n;
	if (ns <= 0) {
		d->zero += n;
		return;
	}
	i = fsc_spread_index(ns / 1e9);
	d->native[i - FSC_SPREAD_LOW] += n;
	d->first = i < d->first ? i : d->first;
	d->last = i > d->last ? i : d->last;
}

static void extend_range(struct fsc_spread *d, double min, double max)
{
	d->min = !d->count || min < d->min ? min : d->min;
	d->max = !d->count || max > d->max ? max : d->max;
}

/* Where a bucket is counted depends on the bucket alone, not on the least and the greatest duration
 * so far: with these it would move, and the one that it leaves would go back. */
static double bucket_place(const struct fsc_bin *bin, uint32_t next, double unit)
{
	return next > FSC_HIST_OVER ? bin->low : (bin->low + bin->high - unit) / 2;
}

/* The count is that of the buckets, not the slot's own: both are read while calls go on, and the
 * histogram must be consistent. */
void fsc_spread_add(struct fsc_spread *d, const struct fsc_latency *l)
{
	double unit = l->ticks.ns ? l->ticks.ns : 1;
	struct fsc_bin bin;
	uint32_t at = 0;

	if (fsc_latency_bucket(l, &at, &bin))
		extend_range(d, fsc_latency_ns(l, (double)fsc_slot_min(l->slot)) / 1e9,
			     fsc_latency_ns(l, (double)l->slot->max) / 1e9);
	for (at = 0; fsc_latency_bucket(l, &at, &bin);)
		add_bucket(d, bucket_place(&bin, at, unit), bin.n);
	if (l->ticks.ns)
		d->tick_ns += fsc_latency_total(l);
	else
		d->ns += l->slot->total;
}

double fsc_spread_sum(const struct fsc_spread *d)
{
	return ((double)d->ns + d->tick_ns) / 1e9;
}

void fsc_spread_note(struct fsc_spread *d, const struct fsc_noted_call *c)
{
	const struct fsc_noted_call **at;

	if (!c->call || !c->call->has_duration)
		return;
	at = &d->noted[classic_index((double)c->call->duration_ns)];
	if (!*at || c->wall_ns >= (*at)->wall_ns)
		*at = c;
}
