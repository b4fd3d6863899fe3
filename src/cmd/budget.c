/* Only taking a probe off saves its cost. So when the probes have cost more than the budget, the
 * few functions that cost most are taken off together (fsc_session_select()) and from then on
 * watched in short windows, at random moments, as often as the budget pays for; the others are
 * counted on without a gap. In a window only as many functions are watched as leave the target half
 * of its time, or what it did itself could not be told from what the probes took. Functions that
 * turn out to cost little are watched for good again. */
#include "cmd/budget.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/budget_priv.h"

/* What is spent of the budget: in the target a hit cost half as much again as in the loop in which
 * it is measured. */
#define MARGIN 0.65
enum { WARN_PERCENT = 5, WARN_AFTER_NS = 1000000000 };

void fsc_budget_free(struct fsc_budget *b)
{
	if (!b)
		return;
	free(b->rows);
	free(b->order);
	free(b->wanted);
	free(b);
}

static void fsc_budget_freep(struct fsc_budget **b)
{
	fsc_budget_free(*b);
}

int fsc_budget_new(double percent, const struct fsc_budget_of *of, struct fsc_budget **ret,
		   struct fsc_err *err)
{
	FSC_AUTO(fsc_budget_freep) struct fsc_budget *b = calloc(1, sizeof(*b));

	if (!b)
		return fsc_err_nomem(err);
	b->share = MARGIN * percent / 100;
	b->of = *of;
	b->rows = calloc(of->n_rows + 1, sizeof(*b->rows));
	b->order = calloc(of->n_rows + 1, sizeof(*b->order));
	b->wanted = calloc(of->n_rows + 1, sizeof(*b->wanted));
	b->random = fsc_clock_mono() | 1;
	if (!b->rows || !b->order || !b->wanted)
		return fsc_err_nomem(err);
	*ret = fsc_take(&b);
	return 0;
}

/* ---- what it costs ---- */

static uint64_t seen_of(const struct fsc_budget *b, size_t row)
{
	return fsc_session_seen(b->of.session, (uint32_t)row);
}

static double cost_of(const struct fsc_budget *b, size_t row, uint64_t hits)
{
	return (double)hits * fsc_live_row_cost(b->of.live, (uint32_t)row);
}

static double sum_costs(const struct fsc_budget *b)
{
	double cost = 0;

	for (size_t i = 0; i < b->of.n_rows; i++)
		cost += cost_of(b, i, seen_of(b, i));
	return cost;
}

/* If the probes used most of the time since the last reading, a hit may cost the target more than
 * was measured: then all of it is charged to them. While functions move between links a hit runs
 * two programs. Time and counters cannot be read at one moment; the skew says how far apart they
 * are. */
static void read_costs(struct fsc_budget *b)
{
	double cpu = (double)b->of.cpu_ns(b->of.arg), cost = sum_costs(b);
	double used = cpu - b->cpu, more = cost - b->cost;

	b->skew = (double)b->of.cpu_ns(b->of.arg) - cpu;
	if (b->share && more > used / 2 && used > more)
		b->surcharge += used - more;
	else if (b->changing && more > 0)
		b->surcharge += more;
	b->cpu = cpu;
	b->cost = cost;
	b->own = cpu > cost ? cpu - cost : 0;
}

static double spent(const struct fsc_budget *b)
{
	return b->cost + b->surcharge;
}

/* A share of what the target would have used without the probes. */
static double allowed(const struct fsc_budget *b)
{
	double own = b->cpu - spent(b);

	return own > 0 ? b->share * own : 0;
}

/* Not at once: a process that has just begun, or woken up, has not used much itself. */
static void warn_once(struct fsc_budget *b, uint64_t now_ns)
{
	double percent = b->cpu > 0 ? 100 * b->cost / b->cpu : 0;

	if (b->warned)
		return;
	if (percent < WARN_PERCENT) {
		b->costly_since = 0;
		return;
	}
	if (!b->costly_since)
		b->costly_since = now_ns;
	if (now_ns - b->costly_since < WARN_AFTER_NS)
		return;
	b->warned = true;
	fsc_log(FSC_LOG_WARN,
		"the probes cost %.0f%% of the CPU time; --max-overhead PCT sets a limit",
		percent > 100 ? 100 : percent);
}

/* ---- periods: from one change to the next ---- */

/* What rows cost is remembered for some hundred milliseconds of the target's own time: in a short
 * period most of many functions are not called at all, or once. */
#define MEMORY_NS 2e8

static double memory_left(double own)
{
	return exp(-own / MEMORY_NS);
}

static void begin_period(struct fsc_budget *b)
{
	double own = b->own - b->period_at, left = memory_left(own);

	for (size_t i = 0; i < b->of.n_rows; i++) {
		struct fsc_budget_row *r = &b->rows[i];
		uint64_t seen = seen_of(b, i);

		r->recent = r->off ? 0 : r->recent * left + (double)(seen - r->seen_at);
		r->seen_at = seen;
	}
	b->recent_own = b->recent_own * left + own;
	b->period_at = b->own;
	b->period_cpu = b->cpu;
	b->period_cost = b->cost;
}

static uint64_t period_hits(const struct fsc_budget *b, size_t row)
{
	return seen_of(b, row) - b->rows[row].seen_at;
}

/* The target's own time in it. Where the probes took nearly all, that is known badly. */
static double period_own(const struct fsc_budget *b)
{
	double cpu = b->cpu - b->period_cpu, own = cpu - (b->cost - b->period_cost);

	return own > cpu / 20 ? own : cpu / 20;
}

int fsc_budget_select(struct fsc_budget *b, struct fsc_err *err)
{
	int rc;

	for (size_t i = 0; i < b->of.n_rows; i++)
		b->wanted[i] = !b->rows[i].off;
	b->changing = true;
	rc = fsc_session_select(b->of.session, b->wanted, err);
	read_costs(b);
	begin_period(b);
	return rc;
}

/* ---- taking functions off ---- */

static int compare_costs(const void *a, const void *b)
{
	const struct fsc_budget_order *x = a, *y = b;

	return (x->cost < y->cost) - (x->cost > y->cost);
}

static double recent_hits(const struct fsc_budget *b, size_t row)
{
	return b->rows[row].recent + (double)period_hits(b, row);
}

/* The functions that are watched, the costliest first: what they cost in as much time as the period
 * has. */
static size_t sort_watched(struct fsc_budget *b, double own, double *ret_sum)
{
	double part = own / (b->recent_own + own);
	size_t n = 0;

	*ret_sum = 0;
	for (size_t i = 0; i < b->of.n_rows; i++) {
		double cost = recent_hits(b, i) * fsc_live_row_cost(b->of.live, (uint32_t)i) * part;

		if (b->rows[i].off)
			continue;
		b->order[n++] = (struct fsc_budget_order){(uint32_t)i, cost};
		*ret_sum += cost;
	}
	qsort(b->order, n, sizeof(*b->order), compare_costs);
	return n;
}

static void demote(struct fsc_budget *b, const struct fsc_budget_order *o, double own)
{
	struct fsc_budget_row *r = &b->rows[o->row];

	if (!r->demoted)
		r->since_s = (double)(fsc_clock_mono() - b->start_ns) / 1e9;
	r->failures += r->demoted;
	r->demoted = r->off = true;
	r->tries = 0;
	r->off_at = b->own;
	r->rate = o->cost / own;
	/* Elsewhere the target's own time is not known well enough. */
	if (2 * own > b->cpu - b->period_cpu)
		fsc_sampling_know(&r->sampling, (double)period_hits(b, o->row), own);
}

/* Functions that move between links are hit twice meanwhile, and the target is disturbed: about so
 * much for each. */
static double change_cost(const struct fsc_budget *b)
{
	return 1e6 + 1e3 * (double)b->of.n_rows;
}

/* As many as bring the others' cost to half the budget; where the probes took most of the time, to
 * a tenth of what it was: then it is looked at again. A single call says nothing about a function.
 * What would save less than the change itself costs has to wait. */
static int demote_costliest(struct fsc_budget *b, struct fsc_err *err)
{
	double own = period_own(b), left, sum, enough;
	size_t n = sort_watched(b, own, &sum), most = 0;

	left = sum;
	enough = b->share * own / 2;
	if (2 * own < b->cpu - b->period_cpu && enough < sum / 10)
		enough = sum / 10;
	for (size_t i = 0; i < n && left > enough; i++) {
		if (recent_hits(b, b->order[i].row) < 1.5)
			continue;
		left -= b->order[i].cost;
		b->order[most++] = b->order[i];
	}
	if (sum - left < change_cost(b))
		return 0;
	for (size_t i = 0; i < most; i++)
		demote(b, &b->order[i], own);
	fsc_log(FSC_LOG_DEBUG, "%zu functions are demoted: %.1f ms of probes in %.1f ms", most,
		spent(b) / 1e6, b->cpu / 1e6);
	return fsc_budget_select(b, err);
}

/* What may be spent in advance: within a second of the start it is twice the budget at most. */
static double credit(const struct fsc_budget *b)
{
	return b->share * 5e8;
}

static bool is_exceeded(const struct fsc_budget *b)
{
	double cost = b->cost - b->period_cost, own = b->cpu - b->period_cpu - cost;

	return spent(b) > allowed(b) + credit(b) && cost > b->share * own;
}

int fsc_budget_tick(struct fsc_budget *b, struct fsc_err *err)
{
	if (!b->start_ns)
		b->start_ns = fsc_clock_mono();
	read_costs(b);
	if (!b->share) {
		warn_once(b, fsc_clock_mono());
		return 0;
	}
	if (fsc_session_selecting(b->of.session))
		return 0;
	if (b->changing)
		begin_period(b);
	b->changing = false;
	if (b->window)
		return fsc_budget_close_window(b, err);
	if (is_exceeded(b))
		return demote_costliest(b, err);
	return fsc_budget_is_window_due(b) ? fsc_budget_open_window(b, err) : 0;
}

double fsc_budget_room(const struct fsc_budget *b)
{
	return allowed(b) + credit(b) / 2 - spent(b);
}

uint64_t fsc_budget_hits(const struct fsc_budget *b, size_t row)
{
	return period_hits(b, row);
}

double fsc_budget_cost(const struct fsc_budget *b, size_t row)
{
	return cost_of(b, row, period_hits(b, row));
}

/* ---- the report ---- */

static void report_row(struct fsc_budget *b, size_t row)
{
	struct fsc_budget_row *r = &b->rows[row];
	double unwatched = r->unwatched + (r->off ? b->own - r->off_at : 0), low, high;
	struct fsc_sampled s = {.windows = r->windows, .since_s = r->since_s};
	double seen = (double)seen_of(b, row);

	s.demoted = true;
	s.armed_percent = b->own > unwatched ? 100 * (b->own - unwatched) / b->own : 0;
	s.estimated = fsc_sampling_estimate(&r->sampling, unwatched, &low, &high);
	if (s.estimated) {
		s.low = seen + low;
		s.high = seen + high;
	}
	fsc_live_note_sampled(b->of.live, (uint32_t)row, &s);
}

void fsc_budget_report(struct fsc_budget *b)
{
	read_costs(b);
	for (size_t i = 0; i < b->of.n_rows; i++)
		if (b->rows[i].demoted)
			report_row(b, i);
}
