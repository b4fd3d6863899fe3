/* Windows of a budget: some demoted functions are watched for some milliseconds. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/budget_priv.h"

/* As much of the target's time, and up to a tick more; or so long while it does nothing. */
#define WINDOW_CPU 4e6
enum { LONGEST_NS = 50000000 };
/* Time and counters of a window may be read that far apart, as a share of it. */
#define MOST_SKEW 0.05
/* Share of the budget for windows and functions that are watched for good, the latter's part of it.
 */
#define WINDOWS_SHARE 0.9
#define WATCHED_SHARE 0.5
/* What the functions of a window may cost, as a share of the target's own time. */
#define WINDOW_RATE 0.3
/* Between windows, at least: the target's own time, ns. */
#define LEAST_GAP 3e7

static double random_share(struct fsc_budget *b)
{
	b->random = b->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(b->random >> 11) / 9007199254740992.0;
}

/* ---- opening ---- */

static int compare_rates(const void *a, const void *b)
{
	const struct fsc_budget_order *x = a, *y = b;

	return (x->cost > y->cost) - (x->cost < y->cost);
}

/* Demoted functions, the cheapest first. */
static size_t sort_demoted(struct fsc_budget *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->of.n_rows; i++)
		if (b->rows[i].off)
			b->order[n++] = (struct fsc_budget_order){(uint32_t)i, b->rows[i].rate};
	qsort(b->order, n, sizeof(*b->order), compare_rates);
	return n;
}

/* The end of the lot that begins with the first: as many functions as the target can bear. Those
 * that are too much each alone are one lot. */
static size_t lot_end(const struct fsc_budget *b, size_t first, size_t n)
{
	double sum = 0;
	size_t i = first;

	if (b->order[first].cost > WINDOW_RATE)
		return n;
	while (i < n && sum + b->order[i].cost <= WINDOW_RATE)
		sum += b->order[i++].cost;
	return i;
}

/* One of the lots, at random. */
static void choose_lot(struct fsc_budget *b, size_t n, size_t *first, size_t *end)
{
	size_t lots = 0, which;

	for (size_t i = 0; i < n; i = lot_end(b, i, n))
		lots++;
	which = (size_t)(random_share(b) * (double)lots);
	*first = 0;
	*end = lot_end(b, 0, n);
	while (which-- && *end < n) {
		*first = *end;
		*end = lot_end(b, *first, n);
	}
}

/* When there is room for one as costly as the last, and some random time has passed. */
bool fsc_budget_is_window_due(struct fsc_budget *b)
{
	return b->own >= b->window_at && fsc_budget_room(b) > b->window_cost && sort_demoted(b);
}

int fsc_budget_open_window(struct fsc_budget *b, struct fsc_err *err)
{
	size_t n = sort_demoted(b), first, end;
	int rc;

	choose_lot(b, n, &first, &end);
	b->window_spent = b->cost + b->surcharge;
	for (size_t i = first; i < end; i++) {
		struct fsc_budget_row *r = &b->rows[b->order[i].row];

		r->off = false;
		r->in_window = true;
		r->unwatched += b->own - r->off_at;
	}
	rc = fsc_budget_select(b, err);
	b->changing = false; /* nothing moves */
	b->window = true;
	b->window_ns = fsc_clock_mono();
	b->window_skew = b->skew;
	return rc;
}

/* ---- closing ---- */

static void read_window(struct fsc_budget *b, size_t row)
{
	struct fsc_budget_row *r = &b->rows[row];
	double cpu = b->cpu - b->period_cpu, cost = b->cost - b->period_cost;
	double own = cpu - cost > cpu / 20 ? cpu - cost : cpu / 20;
	double rate = own > 0 ? fsc_budget_cost(b, row) / own : 0;

	r->windows++;
	r->tries++;
	r->rate = (r->rate + rate) / 2;
	r->off_at = b->own;
	if (b->skew + b->window_skew > MOST_SKEW * cpu)
		return; /* we were interrupted, which has nothing to do with the function */
	fsc_sampling_add(&r->sampling, (double)fsc_budget_hits(b, row), cpu, cost);
}

/* What the functions cost that are watched all the time, as a share of the target's own time. */
static double watched_rate(const struct fsc_budget *b)
{
	double cost = 0, own = b->cpu - b->period_cpu - (b->cost - b->period_cost);

	for (size_t i = 0; i < b->of.n_rows; i++)
		if (!b->rows[i].off && !b->rows[i].in_window)
			cost += fsc_budget_cost(b, i);
	return own > 0 ? cost / own : 0;
}

/* Those that have become cheap are watched for good, as far as the budget reaches; the others are
 * taken off. */
static size_t keep_cheap(struct fsc_budget *b)
{
	double room = WATCHED_SHARE * b->share - watched_rate(b);
	size_t kept = 0;

	for (size_t i = 0; i < b->of.n_rows; i++) {
		struct fsc_budget_row *r = &b->rows[i];
		unsigned wait = r->failures < 8 ? 2u << r->failures : 512;

		if (!r->in_window)
			continue;
		r->in_window = false;
		r->off = r->tries < wait || r->rate > room;
		room -= r->off ? 0 : r->rate;
		kept += !r->off;
	}
	return kept;
}

int fsc_budget_close_window(struct fsc_budget *b, struct fsc_err *err)
{
	double rate, cost;
	size_t kept;
	int rc;

	if (b->cpu - b->period_cpu < WINDOW_CPU && fsc_clock_mono() - b->window_ns < LONGEST_NS)
		return 0;
	for (size_t i = 0; i < b->of.n_rows; i++)
		if (b->rows[i].in_window)
			read_window(b, i);
	rate = watched_rate(b);
	kept = keep_cheap(b);
	if (kept)
		fsc_log(FSC_LOG_DEBUG, "%zu functions are watched for good again", kept);
	b->window = false;
	rc = fsc_budget_select(b, err);
	cost = b->cost + b->surcharge - b->window_spent;
	b->window_cost = cost;
	rate = WINDOWS_SHARE * b->share - rate;
	rate = rate > b->share / 10 ? rate : b->share / 10;
	cost = cost / rate > LEAST_GAP ? cost / rate : LEAST_GAP;
	b->window_at = b->own + cost * (0.5 + random_share(b));
	return rc;
}
