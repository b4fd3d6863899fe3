/* The budget: while the probes cost more than max_overhead, the most expensive function is
 * detached. And the messages at the end. */
#include "base/log.h"
#include "monitor/monitor_priv.h"

#define WARN_PERCENT 5.0 /* cost from which a warning is logged */

/* Compares the cost of hits with the CPU time since the last call. */
void fsc_monitor_budget(struct fsc_monitor *m)
{
	double most = m->config->max_overhead, share;
	uint64_t cpu;
	struct fsc_hooks_cost cost;
	bool of_machine;

	cpu = fsc_run_cpu(m->run, m->processes, m->cpu_start, &of_machine);
	fsc_hooks_cost(m->hooks, &cost);
	if (!m->budget_cpu || cpu <= m->budget_cpu) {
		m->budget_cpu = cpu;
		return;
	}
	share = 100 * cost.ns / (double)(cpu - m->budget_cpu);
	m->budget_cpu = cpu;
	if (!most && share > WARN_PERCENT && !m->warned_cost) {
		m->warned_cost = true;
		fsc_log(FSC_LOG_WARN,
			"the probes cost %.0f%% of the %s's CPU time, %s most of it; "
			"\"max_overhead\" sets a limit",
			share > 100 ? 100 : share, of_machine ? "machine" : "target",
			cost.costliest ? cost.costliest : "all of them");
	}
	if (!most || share <= most || !cost.costliest_ns)
		return;
	fsc_log(FSC_LOG_WARN,
		"%s is no longer watched: probes took %.1f%% of the %s's CPU time, and "
		"max_overhead is %g%%; reload the configuration to watch it again",
		cost.costliest, share, of_machine ? "machine" : "target", most);
	fsc_hooks_pause(m->hooks, &cost);
}

void fsc_monitor_log_end(const struct fsc_monitor *m)
{
	const struct fsc_receiver_state *r;
	size_t n;

	if (m->unwarned)
		fsc_log(FSC_LOG_NOTE, "%llu more slow calls were not logged",
			(unsigned long long)m->unwarned);
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
