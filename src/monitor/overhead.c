/* The budget: while the probes cost more than max_overhead, the functions that cost most are
 * detached; while they cost less, detached ones are tried again. And the messages at the end. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "monitor/monitor_priv.h"
#include "proc/cputime.h"

#define LEFT	     0.8 /* of the budget, for functions that stay */
#define WARN_PERCENT 5.0 /* cost from which a warning is logged */

static const char *whose_time(bool of_machine)
{
	return of_machine ? "machine" : "target";
}

static void warn_cost(struct fsc_monitor *m, double share, const char *costliest, bool of_machine)
{
	if (share <= WARN_PERCENT || m->warned_cost)
		return;
	m->warned_cost = true;
	fsc_log(FSC_LOG_WARN,
		"the probes cost %.0f%% of the %s's CPU time, %s most of it; "
		"\"max_overhead\" sets a limit",
		share > 100 ? 100 : share, whose_time(of_machine),
		costliest ? costliest : "all of them");
}

enum { SHED_SHOWN = 5 }; /* with a line each */

static void note_shed(struct fsc_monitor *m, const struct fsc_hooks_shed *s, double share,
		      bool of_machine, bool show)
{
	struct fsc_err err = {0};
	double wait_s = 0;
	size_t n;
	const char *name = fsc_hooks_funcs(m->hooks, &n)[s->func].name;

	if (fsc_throttle_detached(&m->throttle, s->func, share, fsc_clock_mono(), &wait_s, &err))
		fsc_log(FSC_LOG_WARN, "%s is not attached again before a reload: %s", name,
			err.msg);
	if (show)
		fsc_log(
		    FSC_LOG_WARN,
		    "%s is no longer watched: its probes took %.2g%% of the %s's CPU time, and "
		    "max_overhead is %g%%; it is tried again in %g s, or when the configuration "
		    "is reloaded",
		    name, share, whose_time(of_machine), m->config->max_overhead, wait_s);
}

/* Those that cost most go together, until the others leave some room. */
static void detach_costliest(struct fsc_monitor *m, const struct fsc_hooks_cost *cost, double share,
			     bool of_machine)
{
	FSC_AUTO(fsc_vec_release) struct fsc_vec shed = FSC_VEC_INIT(struct fsc_hooks_shed);
	const double ns_per_percent = cost->ns / share;
	struct fsc_err err = {0};
	int rc =
	    fsc_hooks_shed(m->hooks, LEFT * m->config->max_overhead * ns_per_percent, &shed, &err);

	for (size_t i = 0; i < shed.n; i++) {
		const struct fsc_hooks_shed *s = FSC_AT(struct fsc_hooks_shed, &shed, i);

		note_shed(m, s, s->ns / ns_per_percent, of_machine, i < SHED_SHOWN);
	}
	if (shed.n > SHED_SHOWN)
		fsc_log(FSC_LOG_WARN, "%zu more functions are no longer watched, which cost less",
			shed.n - SHED_SHOWN);
	if (rc)
		fsc_log(FSC_LOG_WARN, "probes cannot be taken off: %s", err.msg);
}

static void attach_due(struct fsc_monitor *m, double share, bool of_machine)
{
	uint64_t now = fsc_clock_mono();
	struct fsc_err err = {0};
	uint32_t func;
	double wait_s;
	const char *name;
	size_t n;

	if (!fsc_throttle_due(&m->throttle, share, m->config->max_overhead, now, &func))
		return;
	name = fsc_hooks_funcs(m->hooks, &n)[func].name;
	fsc_throttle_back(&m->throttle, func, now);
	if (!fsc_hooks_resume(m->hooks, func, &err)) {
		fsc_log(FSC_LOG_NOTE,
			"%s is watched again: the other probes take %.1f%% of the %s's CPU time",
			name, share, whose_time(of_machine));
		return;
	}
	fsc_log(FSC_LOG_WARN, "%s cannot be attached again: %s", name, err.msg);
	fsc_throttle_detached(&m->throttle, func, 0, now, &wait_s, NULL);
}

/* Percent of the CPU time since the last call; negative: not known. While the targets are idle,
 * what others pay is compared with the time of the machine. */
static double measure_share(struct fsc_monitor *m, const struct fsc_hooks_cost *cost,
			    bool *of_machine)
{
	uint64_t cpu = fsc_run_cpu(m->run, m->processes, m->cpu_start, of_machine),
		 machine = fsc_cputime_machine(), before = m->budget_cpu,
		 machine_before = m->budget_machine;

	m->budget_cpu = cpu;
	m->budget_machine = machine;
	if (before && cpu > before)
		return 100 * cost->ns / (double)(cpu - before);
	*of_machine = true;
	if (machine_before && machine > machine_before)
		return 100 * cost->ns / (double)(machine - machine_before);
	return machine_before && cost->ns == 0 ? 0 : -1;
}

void fsc_monitor_budget(struct fsc_monitor *m)
{
	double most = m->config->max_overhead, share;
	struct fsc_hooks_cost cost;
	bool of_machine;

	fsc_hooks_cost(m->hooks, &cost);
	share = measure_share(m, &cost, &of_machine);
	if (share < 0)
		return;
	if (!most)
		warn_cost(m, share, cost.costliest, of_machine);
	else if (share > most && cost.costliest_ns > 0)
		detach_costliest(m, &cost, share, of_machine);
	else
		attach_due(m, share, of_machine);
}

/* For snapshots: those that are detached, and those that were. */
int fsc_monitor_throttled(struct fsc_monitor *m, struct fsc_snapshot *s, struct fsc_err *err)
{
	size_t n;
	const struct fsc_func *funcs = fsc_hooks_funcs(m->hooks, &n);

	m->detached.n = 0;
	for (size_t i = 0; i < m->throttle.of.n; i++) {
		const struct fsc_throttled *f = FSC_AT(struct fsc_throttled, &m->throttle.of, i);
		struct fsc_detached *d = fsc_vec_push(&m->detached);

		if (!d)
			return fsc_err_nomem(err);
		*d = (struct fsc_detached){&funcs[f->func], f->detached};
	}
	s->detached = m->detached.data;
	s->n_detached = m->detached.n;
	return 0;
}

void fsc_monitor_log_end(const struct fsc_monitor *m)
{
	const struct fsc_receiver_state *r;
	size_t n;

	if (m->unwarned)
		fsc_log(FSC_LOG_NOTE, "%llu more slow calls were not logged",
			(unsigned long long)m->unwarned);
	if (m->reports_dropped)
		fsc_log(FSC_LOG_WARN, "%llu reports could not be written",
			(unsigned long long)m->reports_dropped);
	if (m->events_dropped)
		fsc_log(FSC_LOG_WARN,
			"%llu events were dropped because their readers were too slow",
			(unsigned long long)m->events_dropped);
	if (m->clients_refused)
		fsc_log(FSC_LOG_WARN,
			"%llu connections to the sockets were refused because there were too many",
			(unsigned long long)m->clients_refused);
	if (fsc_forward_missed(m->forward))
		fsc_log(FSC_LOG_WARN, "%llu slow calls were counted but not sent individually",
			(unsigned long long)fsc_forward_missed(m->forward));
	r = fsc_forward_receivers(m->forward, &n);
	for (size_t i = 0; i < n; i++)
		fsc_log(r[i].dropped_full || r[i].dropped_refused || r[i].rejected ? FSC_LOG_WARN
										   : FSC_LOG_NOTE,
			"%s: %llu messages sent, %llu dropped (no room, or not sent by now), %llu "
			"refused, "
			"%llu records rejected, %llu left in the spool",
			r[i].name, (unsigned long long)r[i].sent,
			(unsigned long long)r[i].dropped_full,
			(unsigned long long)r[i].dropped_refused, (unsigned long long)r[i].rejected,
			(unsigned long long)r[i].queued);
}
