/* A function whose probes cost more than the budget is watched in short windows only. Only
 * detaching a probe saves its cost, and that takes the kernel about ten milliseconds; so a window
 * is closed at the first tick that exceeds the budget, and the next one opens when the CPU time
 * used since would pay for another as expensive. Counts inside the windows are exact. The total
 * number of calls is an estimate: the calls per CPU time that the probes left the target in the
 * windows, scaled to the whole run. */
#include "cmd/budget.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

enum { WARN_PERCENT = 5, WARN_AFTER_NS = 1000000000 };
/* How far the cost of a hit in the target may be from what was measured. */
#define COST_ERROR 0.2
/* A quotient is given as an estimate where that error changes it by no more than this factor. */
#define GOOD 1.5

struct row {
	bool off;
	unsigned windows; /* that were closed */
	uint64_t seen_at; /* hits when the present window opened */
	uint64_t cpu_at;  /* CPU time then */
	double armed_cpu; /* CPU time of closed windows */
	double spent;	  /* ns that closed windows cost */
	double last_cost; /* the last one of them */
	/* For the estimate, windows in which the probes were certainly attached: */
	uint64_t rate_seen_at, rate_cpu_at; /* where the present one began */
	double rate_hits, rate_cpu;	    /* in closed ones */
};

struct fsc_budget {
	double share; /* 0: only warn */
	bool warned;
	uint64_t costly_since; /* when it began to cost too much; 0: it does not */
	struct fsc_budget_of of;
	struct row *rows;
};

void fsc_budget_free(struct fsc_budget *b)
{
	if (!b)
		return;
	free(b->rows);
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
	b->share = percent / 100;
	b->of = *of;
	b->rows = calloc(of->n_rows + 1, sizeof(*b->rows));
	if (!b->rows)
		return fsc_err_nomem(err);
	*ret = fsc_take(&b);
	return 0;
}

static uint64_t cpu_now(const struct fsc_budget *b)
{
	return b->of.cpu_ns(b->of.arg);
}

static uint64_t window_hits(const struct fsc_budget *b, size_t row)
{
	return fsc_session_seen(b->of.session, (uint32_t)row) - b->rows[row].seen_at;
}

static double window_cpu(const struct fsc_budget *b, size_t row, uint64_t cpu_ns)
{
	return cpu_ns > b->rows[row].cpu_at ? (double)(cpu_ns - b->rows[row].cpu_at) : 0;
}

/* What a hit is charged. If the probes used most of the window, a hit may cost the target more than
 * was measured; then the whole window is charged to them. */
static double charge_per_hit(const struct fsc_budget *b, size_t row, uint64_t cpu_ns)
{
	double cost = fsc_live_row_cost(b->of.live, (uint32_t)row);
	double hits = (double)window_hits(b, row), armed = window_cpu(b, row, cpu_ns);

	return b->share && hits * cost > armed / 2 && armed > hits * cost ? armed / hits : cost;
}

static double window_cost(const struct fsc_budget *b, size_t row, uint64_t cpu_ns)
{
	return b->rows[row].off ? 0 : charge_per_hit(b, row, cpu_ns) * (double)window_hits(b, row);
}

static double total_cost(const struct fsc_budget *b, uint64_t cpu_ns)
{
	double cost = 0;

	for (size_t i = 0; i < b->of.n_rows; i++)
		cost += b->rows[i].spent + window_cost(b, i, cpu_ns);
	return cost;
}

/* What the probes may have cost by now: a share of what the target would have used without them. */
static double allowed_cost(const struct fsc_budget *b, double cost, uint64_t cpu_ns)
{
	double own = (double)cpu_ns - cost;

	return own > 0 ? b->share * own : 0;
}

/* Adds the present window, as far as it is now. */
static void note_rate(const struct fsc_budget *b, size_t row, uint64_t cpu_ns, double *hits,
		      double *cpu)
{
	const struct row *r = &b->rows[row];
	uint64_t seen = fsc_session_seen(b->of.session, (uint32_t)row);

	if (cpu_ns <= r->rate_cpu_at)
		return;
	*hits += (double)(seen - r->rate_seen_at);
	*cpu += (double)(cpu_ns - r->rate_cpu_at);
}

/* Detaching takes time: hits still arrive at first, then none while the kernel waits. */
static void close_window(struct fsc_budget *b, size_t row)
{
	struct row *r = &b->rows[row];
	uint64_t cpu_ns = cpu_now(b), hits = window_hits(b, row);
	double each = charge_per_hit(b, row, cpu_ns), armed = window_cpu(b, row, cpu_ns);

	note_rate(b, row, cpu_ns, &r->rate_hits, &r->rate_cpu);
	if (fsc_session_pause(b->of.session, (uint32_t)row, NULL))
		return;
	r->last_cost = each * (double)window_hits(b, row);
	r->spent += r->last_cost;
	r->armed_cpu += armed + each * (double)(window_hits(b, row) - hits);
	r->windows++;
	r->off = true;
}

static int open_window(struct fsc_budget *b, size_t row, struct fsc_err *err)
{
	struct row *r = &b->rows[row];
	int rc;

	r->off = false;
	r->seen_at = fsc_session_seen(b->of.session, (uint32_t)row);
	rc = fsc_session_resume(b->of.session, (uint32_t)row, err);
	r->cpu_at = r->rate_cpu_at = cpu_now(b);
	r->rate_seen_at = fsc_session_seen(b->of.session, (uint32_t)row);
	return rc;
}

/* The function whose present window costs most; n_rows if none has cost anything. */
static size_t costliest_row(const struct fsc_budget *b, uint64_t cpu_ns)
{
	double most = 0;
	size_t which = b->of.n_rows;

	for (size_t i = 0; i < b->of.n_rows; i++) {
		double cost = window_cost(b, i, cpu_ns);

		if (cost > most) {
			most = cost;
			which = i;
		}
	}
	return which;
}

/* Not at once: a process that has just begun, or woken up, has not used much itself. */
static void warn_once(struct fsc_budget *b, double cost, uint64_t cpu_ns, uint64_t now_ns)
{
	double percent = cpu_ns ? 100 * cost / (double)cpu_ns : 0;

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

static int throttle_rows(struct fsc_budget *b, double cost, uint64_t cpu_ns, struct fsc_err *err)
{
	double room = allowed_cost(b, cost, cpu_ns) - cost;
	int rc = 0;

	while (room < 0) {
		size_t i = costliest_row(b, cpu_ns);

		if (i == b->of.n_rows)
			break;
		room += window_cost(b, i, cpu_ns); /* its cost is refunded */
		close_window(b, i);
	}
	for (size_t i = 0; !rc && i < b->of.n_rows; i++)
		if (b->rows[i].off && room >= b->rows[i].last_cost) {
			room -= b->rows[i].last_cost;
			rc = open_window(b, i, err);
		}
	return rc;
}

int fsc_budget_tick(struct fsc_budget *b, struct fsc_err *err)
{
	uint64_t cpu_ns = cpu_now(b);
	double cost = total_cost(b, cpu_ns);

	if (b->share)
		return throttle_rows(b, cost, cpu_ns, err);
	warn_once(b, cost, cpu_ns, fsc_clock_mono());
	return 0;
}

/* Total calls: the rate per CPU time of the target itself in the windows, times its total CPU time.
 * If the probes took nearly all of it, the difference is within the error of their cost: then only
 * the upper bound is meaningful. */
static void estimate_calls(const struct fsc_budget *b, size_t row, uint64_t cpu_ns,
			   struct fsc_sampled *s)
{
	const struct row *r = &b->rows[row];
	double hits = r->rate_hits, cpu = r->rate_cpu, seen, all, probes, own, error;

	if (!r->off)
		note_rate(b, row, cpu_ns, &hits, &cpu);
	seen = (double)fsc_session_seen(b->of.session, (uint32_t)row);
	all = (double)cpu_ns - total_cost(b, cpu_ns);
	probes = hits * fsc_live_row_cost(b->of.live, (uint32_t)row);
	error = probes * COST_ERROR;
	own = cpu - probes;
	s->at_least = own - error < (own + error) / GOOD / GOOD;
	if (s->at_least)
		own = own + error > error ? own + error : error;
	s->calls = own > 0 && hits / own * all > seen ? hits / own * all : seen;
}

void fsc_budget_report(struct fsc_budget *b)
{
	uint64_t cpu_ns = cpu_now(b);

	for (size_t i = 0; i < b->of.n_rows; i++) {
		const struct row *r = &b->rows[i];
		double armed = r->armed_cpu;
		struct fsc_sampled s = {.windows = r->windows + !r->off};

		if (!r->windows)
			continue;
		if (!r->off)
			armed += window_cpu(b, i, cpu_ns);
		s.armed_percent = cpu_ns ? 100 * armed / (double)cpu_ns : 0;
		estimate_calls(b, i, cpu_ns, &s);
		fsc_live_note_sampled(b->of.live, (uint32_t)i, &s);
	}
}
